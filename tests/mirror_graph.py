"""Which page of a mirror leads to which, by their titles: of what `lycosa export mirror` makes, or `wget --mirror -k -E`.

mirror_graph.py MIRROR WGETS: both must be the same graph. A page that leads on at once (a redirect) stands for where it leads to. Prints a JSON object
with the number of pages and of edges, or fails and says what is wrong.
"""

import json
import os
import sys
from urllib.parse import unquote, urlsplit

from export_reader import charset_of, parsed


def pages(root):
    """Title of each page, and the files that it leads to; of a redirect no title."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as stream:
                body = stream.read()
            if not name.endswith(".html"):
                continue
            page, targets, leads = parsed(body, charset_of(None, body)), set(), False
            for tag, attrs in page.tags:
                refs = [attrs.get(key) for key in ("href", "src") if attrs.get(key)]
                if tag == "meta" and (attrs.get("http-equiv") or "").lower() == "refresh":
                    refs.append(attrs["content"].split("=", 1)[-1])
                    leads = attrs["content"].startswith("0")
                for parts in map(urlsplit, refs):
                    if not parts.scheme and parts.path:
                        target = os.path.normpath(os.path.join(folder, unquote(parts.path)))
                        assert os.path.isfile(target), f"{path}: {parts.path} leads to no file"
                        targets.add(target)
            title = " ".join(page.title.split())
            found[path] = (None if leads and not title.startswith("Page ") else title), targets
    return found


def graph(root):
    found = pages(root)

    def ends(path, hops=10):
        if path not in found or not hops:
            return set()
        title, targets = found[path]
        return {title} if title is not None else {end for target in targets for end in ends(target, hops - 1)}

    edges = {(title, end) for title, targets in found.values() if title is not None for target in targets for end in ends(target)}
    return {title for title, _ in found.values() if title is not None}, {(a, b) for a, b in edges if a != b}


def main():
    (own, links), (wgets, theirs) = map(graph, sys.argv[1:3])
    for what, found, wanted in (("pages", own, wgets), ("edges", links, theirs)):
        assert found == wanted, f"{what}: {sorted(found - wanted)[:5]} only here, {sorted(wanted - found)[:5]} only in wget's"
    print(json.dumps({"pages": len(own), "edges": len(links)}))


main()
