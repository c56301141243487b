"""How many pages of an archive link to each URL, made of nothing but its records: warcio reads them, the standard library's parser finds links.

    python link_graph.py WARC_DIR

Writes a JSON object: URL to number of pages. Of each URL the newest response of HTML with status 2xx counts. Links are those of a, area, frame
and iframe, resolved, each target once a page and never the page itself; not those that say nofollow, ugc or sponsored, nor any of a page that says
nofollow, in its markup or its head.
"""

import collections
import html.parser
import json
import pathlib
import sys
import urllib.parse

from warcio.archiveiterator import ArchiveIterator

ELEMENTS = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}
REFUSED = {"nofollow", "ugc", "sponsored"}


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found, self.base, self.nofollow = [], None, False

    def handle_starttag(self, tag, attrs):
        attrs = {name: value or "" for name, value in reversed(attrs)}
        if tag == "base" and self.base is None and "href" in attrs:
            self.base = attrs["href"]
        if tag == "meta" and attrs.get("name", "").lower() in ("robots", "lycosa"):
            self.nofollow |= bool({"nofollow", "none"} & words(attrs.get("content", ""), ","))
        wanted = ELEMENTS.get(tag)
        if wanted in attrs and not REFUSED & words(attrs.get("rel", ""), None):
            self.found.append(attrs[wanted])


def words(text, separator):
    return {word.strip().lower() for word in text.split(separator)}


def links(url, head, body):
    reader = Links()
    # Links are ASCII in any charset that these pages have.
    reader.feed(body.decode("latin-1"))
    if reader.nofollow or {"nofollow", "none"} & words(head.get_header("X-Robots-Tag") or "", ","):
        return set()
    base = urllib.parse.urljoin(url, reader.base or "")
    targets = (urllib.parse.urldefrag(urllib.parse.urljoin(base, link.strip())).url for link in reader.found)
    return {target for target in targets if target.startswith(("http://", "https://"))} - {url}


def records(folder):
    for path in sorted(pathlib.Path(folder).iterdir()):
        if ".warc." in path.name:
            with path.open("rb") as file:
                yield from ((record, record.rec_headers.get_header) for record in ArchiveIterator(file))


def main(folder):
    newest, bodies = {}, {}
    for record, header in records(folder):
        if record.rec_type not in ("response", "revisit") or not record.http_headers:
            continue
        head, digest = record.http_headers, header("WARC-Payload-Digest")
        if record.rec_type == "response":
            bodies[digest] = record.content_stream().read()
        is_html = (head.get_header("Content-Type") or "").startswith("text/html")
        if head.get_statuscode().startswith("2") and is_html:
            url = header("WARC-Target-URI")
            newest[url] = max(newest.get(url, ("",)), (header("WARC-Date"), digest, head), key=lambda found: found[0])
    graph = collections.Counter()
    for url, (_, digest, head) in newest.items():
        graph.update(links(url, head, bodies[digest]))
    json.dump(graph, sys.stdout)


main(sys.argv[1])
