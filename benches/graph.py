#!/usr/bin/env python3
"""Makes the graphs that benches/importance walks: one line a page, its URL and the numbers of the pages it links to, by tabs.

graph.py packages FOLDER > FILE    HTML of unpacked Debian packages: FOLDER/PACKAGE/usr/share/...; a host a package
graph.py webgraph NAME > FILE      NAME.graph and NAME.properties as the WebGraph framework writes them (Boldi and Vigna,
                                   WWW 2004); it names no URLs: neighbours in number, 1,000 a host, stand in for hosts
"""

import os
import re
import sys
from html import unescape
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

NEIGHBOURS = 1000
HREF = re.compile(rb"""<(?:a|area|link|frame|iframe)\s[^>]*?(?:href|src)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
PAGES = (".html", ".htm", ".xhtml")
# Where some of the packages stand in the web, as others' links name them.
ELSEWHERE = {
    "docs.python.org/3/": "/usr/share/doc/python3.11/html/",
    "docs.djangoproject.com/": "/usr/share/doc/python-django-doc/html/",
    "docs.sqlalchemy.org/en/14/": "/usr/share/doc/python-sqlalchemy-doc/html/",
    "docs.scipy.org/doc/scipy/": "/usr/share/doc/python-scipy-doc/html/",
    "www.sphinx-doc.org/en/master/": "/usr/share/doc/sphinx-doc/html/",
    "docs.gtk.org/gtk4/": "/usr/share/doc/libgtk-4-doc/gtk4/",
}


def packages(folder):
    """URLs and links of all HTML under the folder."""
    hosts, names, links = {}, [], {}
    for package in sorted(os.listdir(folder)):
        base = os.path.join(folder, package)
        for path, _, files in sorted(os.walk(base)):
            for name in sorted(files):
                if name.endswith(PAGES):
                    inside = os.path.join(path, name)[len(base):]
                    hosts[inside] = package
                    names.append((package, inside))
        for path, folders, files in os.walk(base):
            for name in folders + files:
                inside = os.path.join(path, name)
                if os.path.islink(inside):
                    target = os.path.normpath(os.path.join(path[len(base):], os.readlink(inside)))
                    links[inside[len(base):]] = target
    numbers = {inside: n for n, (_, inside) in enumerate(names)}

    def real(path):
        for _ in range(4):
            head = next((at for at in prefixes(path) if at in links), None)
            if head is None:
                return path
            path = links[head] + path[len(head):]
        return path

    def number(path):
        for found in (path, real(path), path.rstrip("/") + "/index.html", real(path).rstrip("/") + "/index.html"):
            if found in numbers:
                return numbers[found]
        return None

    tops = {}
    for package, inside in names:
        tops[package] = os.path.commonpath([tops.get(package, os.path.dirname(inside)), os.path.dirname(inside)])
    for package, inside in names:
        with open(os.path.join(folder, package) + inside, "rb") as page:
            text = page.read(4 << 20)
        found = {}
        for href in HREF.findall(text):
            target = target_of(inside, href.decode("utf-8", "replace"))
            to = number(target) if target else None
            if to is not None and to != numbers[inside]:
                found[to] = None
        host, tail = package.replace(".", "-").replace("+", "-"), inside[len(tops[package].rstrip("/")):]
        print(f"http://{host}.test{tail.replace(' ', '%20')}", *found, sep="\t")


def prefixes(path):
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(len(parts) - 1, 2, -1)]


def target_of(base, href):
    """The path of a file that a link leads to."""
    try:
        parts = urlsplit(urldefrag(urljoin("file://" + base, unescape(href)))[0])
    except ValueError:
        return None
    if parts.scheme == "file":
        return os.path.normpath(unquote(parts.path))
    web = parts.netloc + parts.path
    return next((os.path.normpath(to + web[len(at):]) for at, to in ELSEWHERE.items() if web.startswith(at)), None)


def webgraph(name):
    """The arcs of a graph compressed with the framework's usual codes."""
    with open(name + ".properties", encoding="ascii") as lines:
        said = dict(line.strip().split("=", 1) for line in lines if "=" in line)
    if said["compressionflags"]:
        sys.exit("graph.py: only the usual codes are read")
    k, shortest = int(said["zetak"]), int(said["minintervallength"])
    with open(name + ".graph", "rb") as data:
        raw = data.read()
    bits = bin(int.from_bytes(b"\x01" + raw, "big"))[3:]
    at = 0

    def unary():
        nonlocal at
        end = bits.index("1", at)
        n, at = end - at, end + 1
        return n

    def read(n):
        nonlocal at
        at += n
        return int(bits[at - n:at], 2) if n else 0

    def gamma():
        n = unary()
        return (1 << n | read(n)) - 1

    def zeta():
        n = unary() * k
        low = read(n + k - 1)
        return low + (1 << n) - 1 if low < 1 << n else (low << 1 | read(1)) - 1

    def signed(n):
        return -(n + 1 >> 1) if n & 1 else n >> 1

    before = []
    for page in range(int(said["nodes"])):
        degree, out = gamma(), []
        if degree:
            back = unary()
            if back:
                copied = before[-back]
                blocks = [gamma() + (n > 0) for n in range(gamma())]
                start, keep = 0, True
                for block in blocks:
                    out += copied[start:start + block] if keep else []
                    start, keep = start + block, not keep
                out += copied[start:] if keep else []
            if degree > len(out):
                last = None
                for _ in range(gamma()):
                    last = page + signed(gamma()) if last is None else last + gamma() + 1
                    length = gamma() + shortest
                    out += range(last, last + length)
                    last += length
                last = None
                for _ in range(degree - len(out)):
                    last = page + signed(zeta()) if last is None else last + zeta() + 1
                    out.append(last)
            out.sort()
        before = before[-6:] + [out]
        print(f"http://b{page // NEIGHBOURS}.test/{page}", *(to for to in out if to != page), sep="\t")


if len(sys.argv) != 3 or sys.argv[1] not in ("packages", "webgraph"):
    sys.exit(__doc__)
(packages if sys.argv[1] == "packages" else webgraph)(sys.argv[2])
