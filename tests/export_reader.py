"""Reads what `lycosa export` made with other people's readers, and holds it against the archive it was made of (tests/it/export_derived.rs).

export_reader.py FORMAT EXPORT WARC_DIR: prints a JSON object of counts, or fails and says what is wrong.
"""

import glob
import json
import os
import sys
from html.parser import HTMLParser

from warcio.archiveiterator import ArchiveIterator


class Page(HTMLParser):
    """Elements with references, in the order of the page; title, text."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.title, self.text, self.within, self.base = [], "", "", None, None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "base" and "href" in attrs:
            self.base = self.base or attrs["href"]
        self.tags.append((tag, attrs))
        if tag in ("title", "script", "style"):
            self.within = tag

    def handle_endtag(self, tag):
        if tag == self.within:
            self.within = None

    def handle_data(self, data):
        if self.within == "title":
            self.title += data
        elif self.within is None:
            self.text += data


def parsed(body, charset="utf-8"):
    page = Page()
    page.feed(body.decode(charset, "replace"))
    page.close()
    return page


class Capture:
    def __init__(self, record, file):
        header = record.rec_headers.get_header
        self.kind, self.id, self.url, self.date = record.rec_type, header("WARC-Record-ID"), header("WARC-Target-URI"), header("WARC-Date")
        self.refers = header("WARC-Refers-To-Target-URI"), header("WARC-Refers-To-Date")
        self.status = int(record.http_headers.get_statuscode())
        self.type = (record.http_headers.get_header("Content-Type") or "").split(";")[0].strip()
        self.location = record.http_headers.get_header("Location")
        self.body = record.content_stream().read()
        self.file, self.offset = os.path.basename(file), None


def archive(folder):
    """The newest capture of each URL, with the body of the record that it refers to."""
    first, newest = {}, {}
    for file in sorted(glob.glob(os.path.join(folder, "*.warc.gz"))):
        with open(file, "rb") as stream:
            records = ArchiveIterator(stream, check_digests="raise")
            for record in records:
                if record.rec_type in ("response", "revisit"):
                    found = Capture(record, file)
                    found.offset = records.get_record_offset()  # reads what is left of the record
                    if found.url.endswith("/robots.txt"):
                        continue
                    if found.kind == "response":
                        first[(found.url, found.date)] = found
                    if found.url not in newest or newest[found.url].date < found.date:
                        newest[found.url] = found
    for capture in newest.values():
        capture.holder = first[capture.refers] if capture.kind == "revisit" else capture
        capture.body = capture.holder.body
    return newest


def pages(captures):
    return {url: c for url, c in captures.items() if c.status == 200 and c.holder.type == "text/html"}


def records(export, ending):
    """The records of all files, each of which begins with warcinfo; their digests are checked."""
    files = sorted(glob.glob(os.path.join(export, "*")))
    assert all(f.endswith(ending) or f.endswith("MANIFEST.json") for f in files), files
    for file in files:
        if not file.endswith(ending):
            continue
        with open(file, "rb") as stream:
            for nth, record in enumerate(ArchiveIterator(stream, check_digests="raise")):
                content = record.content_stream().read()
                assert record.digest_checker.passed is not False, record.digest_checker.problems
                if nth == 0:
                    assert record.rec_type == "warcinfo" and os.path.basename(file) == record.rec_headers.get_header("WARC-Filename")
                else:
                    yield os.path.basename(file), record, content


def same(what, found, wanted):
    assert found == wanted, f"{what}: {sorted(found - wanted)[:5]} too much, {sorted(wanted - found)[:5]} missing"


def wet(export, captures):
    seen, languages = {}, {}
    for file, record, content in records(export, ".warc.wet.gz"):
        header = record.rec_headers.get_header
        url = header("WARC-Target-URI")
        capture = captures[url]
        assert record.rec_type == "conversion" and header("Content-Type") == "text/plain" and url not in seen
        assert header("WARC-Refers-To") == capture.holder.id and header("WARC-Date") == capture.date
        assert file == capture.file.replace(".warc.gz", ".warc.wet.gz")
        page, text = parsed(capture.body), content.decode("utf-8")
        assert text.splitlines()[0] == " ".join(page.title.split()), (url, text[:80])
        words = page.title.split() + page.text.split()
        same(f"words of {url}", set(text.split()), set(words))
        language = header("WARC-Identified-Content-Language")
        languages[language] = languages.get(language, 0) + 1
        seen[url] = text
    same("pages", set(seen), set(pages(captures)))
    return {"records": len(seen), "languages": languages, "revisits": sum(captures[url].kind == "revisit" for url in seen)}


def wat(export, captures):
    seen, links = set(), 0
    for file, record, content in records(export, ".warc.wat.gz"):
        header, said = record.rec_headers.get_header, json.loads(content)
        url = header("WARC-Target-URI")
        capture = captures[url]
        assert record.rec_type == "metadata" and header("Content-Type") == "application/json" and url not in seen
        assert header("WARC-Refers-To") == capture.holder.id
        seen.add(url)
        container, envelope = said["Container"], said["Envelope"]
        assert (container["Filename"], int(container["Offset"])) == (capture.holder.file, capture.holder.offset), url
        fields, payload = envelope["WARC-Header-Metadata"], envelope["Payload-Metadata"]
        assert fields["WARC-Type"] == "response" and fields["WARC-Target-URI"] == url and fields["WARC-Date"] == capture.date
        http = payload["HTTP-Response-Metadata"]
        assert int(http["Response-Message"]["Status"]) == capture.holder.status
        assert http["Headers"].get("Location") == capture.holder.location
        if capture.holder.type != "text/html":
            assert "HTML-Metadata" not in http
            continue
        html, page = http.get("HTML-Metadata", {"Head": {}}), parsed(capture.body)
        if page.title:
            assert html["Head"]["Title"] == " ".join(page.title.split())
        found = [link["url"] for link in html.get("Links", []) if link["path"] == "A@/href"]
        wanted = [attrs["href"].strip() for tag, attrs in page.tags if tag == "a" and "href" in attrs]
        assert found == wanted, (url, found[:5], wanted[:5])
        links += len(found)
    same("responses", seen, set(captures))
    return {"records": len(seen), "anchors": links}


def main():
    form, export, folder = sys.argv[1:4]
    captures = archive(folder)
    told = {"wet": wet, "wat": wat}[form](export, captures)
    print(json.dumps(told))


main()
