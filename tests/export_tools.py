"""Reads exports with other people's tools and says what is in them, as one line of JSON.

    python tests/export_tools.py jsonl FILE            its lines
    python tests/export_tools.py wacz FILE             names, index lines, pages; all digests and places are checked
    python tests/export_tools.py sitemap FOLDER        each URL with its lastmod

Faults go to standard error and the exit code is 1.
"""

import gzip
import hashlib
import io
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree
import zipfile

from fastwarc.stream_io import ZstdReader
from warcio.archiveiterator import ArchiveIterator

SPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


def check(holds, what):
    if not holds:
        sys.exit(f"fault: {what}")


def text_of(path):
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = ZstdReader(io.BytesIO(data)).read()
    elif path.suffix == ".gz":
        data = gzip.decompress(data)
    return data.decode("utf-8")


def jsonl(path):
    text = text_of(path)
    check(text.endswith("\n") or not text, "the last line has no end")
    return [json.loads(line) for line in text.splitlines()]


def sha256(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def index_lines(archive):
    """The lines of all blocks, found by the index of blocks."""
    places = archive.read("indexes/index.idx").decode().splitlines()
    meta = json.loads(places[0].removeprefix("!meta 0 "))
    check(meta == {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}, f"meta is {meta}")
    blocks, lines = archive.read("indexes/index.cdx.gz"), []
    for place in places[1:]:
        key, said = place[: place.index("{")].strip(), json.loads(place[place.index("{") :])
        block = blocks[said["offset"] : said["offset"] + said["length"]]
        check(sha256(block) == said["digest"], f"digest of the block of {key}")
        own = gzip.decompress(block).decode().splitlines()
        check(own[0].startswith(key + " "), f"the block of {key} begins with {own[0]}")
        lines += own
    check(sum(json.loads(p[p.index("{") :])["length"] for p in places[1:]) == len(blocks), "blocks are left over")
    check(lines == sorted(lines, key=str.encode), "the index is not sorted")
    return lines


def wacz(path):
    with zipfile.ZipFile(path) as archive:
        check(archive.testzip() is None, "a CRC is wrong")
        check(all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist()), "an entry is compressed")
        package = json.loads(archive.read("datapackage.json"))
        digest = json.loads(archive.read("datapackage-digest.json"))
        check(digest == {"path": "datapackage.json", "hash": sha256(archive.read("datapackage.json"))}, "the digest")
        resources = {resource["path"]: resource for resource in package["resources"]}
        listed = set(resources) | {"datapackage.json", "datapackage-digest.json"}
        check(listed == set(archive.namelist()), f"{listed} are listed, {archive.namelist()} are there")
        for name, resource in resources.items():
            data = archive.read(name)
            check((resource["hash"], resource["bytes"]) == (sha256(data), len(data)), f"what is said of {name}")
        lines = index_lines(archive)
        warcs = {name: archive.read(name) for name in archive.namelist() if name.startswith("archive/")}
        for line in lines:
            said = json.loads(line[line.index("{") :])
            begin, length = int(said["offset"]), int(said["length"])
            member = warcs["archive/" + said["filename"]][begin : begin + length]
            records = list(ArchiveIterator(io.BytesIO(member)))
            found = [record.rec_headers.get_header("WARC-Target-URI") for record in records]
            check(found == [said["url"]], f"{said['url']}: at its place are {found}")
        for name, data in warcs.items():
            kinds = [record.rec_type for record in ArchiveIterator(io.BytesIO(data))]
            check(kinds[0] == "warcinfo" and kinds.count("warcinfo") == 1, f"{name} has {kinds}")
        pages = [json.loads(line) for line in archive.read("pages/pages.jsonl").splitlines()]
    return {"package": package, "lines": lines, "head": pages[0], "pages": pages[1:], "warcs": len(warcs)}


def sitemap(folder):
    urls = {}
    index = ElementTree.parse(folder / "sitemap-index.xml").getroot()
    check(index.tag == SPACE + "sitemapindex", index.tag)
    for named in index.iter(SPACE + "loc"):
        root = ElementTree.parse(folder / named.text.rsplit("/", 1)[-1]).getroot()
        check(root.tag == SPACE + "urlset", root.tag)
        for url in root:
            loc = url.find(SPACE + "loc").text
            check(loc not in urls, f"{loc} comes twice")
            urls[loc] = url.find(SPACE + "lastmod").text
    return {"urls": urls, "named": [named.text for named in index.iter(SPACE + "loc")]}


if __name__ == "__main__":
    print(json.dumps({"jsonl": jsonl, "wacz": wacz, "sitemap": sitemap}[sys.argv[1]](pathlib.Path(sys.argv[2]))))
