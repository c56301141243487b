"""Reads what `lycosa export` made with other people's readers, and holds it against the archive it was made of (tests/it/export_derived.rs).

export_reader.py FORMAT EXPORT WARC_DIR: prints a JSON object of counts, or fails and says what is wrong.
"""

import collections
import glob
import gzip
import json
import os
import re
import sys
from datetime import datetime
from html.parser import HTMLParser
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

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


def parsed(body, charset):
    page = Page()
    page.feed(body.decode(charset, "replace"))
    page.close()
    return page


def charset_of(head, body):
    """What the head says, what the page says, and for what is left: UTF-8 where it is that, else what Chinese pages are in."""
    said = re.search(r"charset=([\w-]+)", head or "") or re.search(r"""charset=["']?([\w-]+)""", body[:1024].decode("latin-1"))
    if said:
        return said.group(1)
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return "gb18030"
    return "utf-8"


class Capture:
    def __init__(self, record, file):
        header = record.rec_headers.get_header
        self.kind, self.id, self.url, self.date = record.rec_type, header("WARC-Record-ID"), header("WARC-Target-URI"), header("WARC-Date")
        self.refers = header("WARC-Refers-To-Target-URI"), header("WARC-Refers-To-Date")
        self.status = int(record.http_headers.get_statuscode())
        self.type = (record.http_headers.get_header("Content-Type") or "").split(";")[0].strip()
        self.location = record.http_headers.get_header("Location")
        self.body = record.content_stream().read()
        self.charset = charset_of(record.http_headers.get_header("Content-Type"), self.body)
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
        capture.body, capture.charset = capture.holder.body, capture.holder.charset
    return newest


def read(capture):
    return parsed(capture.body, capture.charset)


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
        page, text = read(capture), content.decode("utf-8")
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
        html, page = http.get("HTML-Metadata", {"Head": {}}), read(capture)
        if page.title:
            assert html["Head"]["Title"] == " ".join(page.title.split())
        found = [link["url"] for link in html.get("Links", []) if link["path"] == "A@/href"]
        wanted = [attrs["href"].strip() for tag, attrs in page.tags if tag == "a" and "href" in attrs]
        assert found == wanted, (url, found[:5], wanted[:5])
        links += len(found)
    same("responses", seen, set(captures))
    return {"records": len(seen), "anchors": links}


def graph(export):
    def lines(name):
        with gzip.open(os.path.join(export, name), "rt", encoding="utf-8") as stream:
            return [line.rstrip("\n").split("\t") for line in stream]

    vertices, edges = lines("vertices.txt.gz"), [tuple(map(int, edge)) for edge in lines("edges.txt.gz")]
    names = [vertex[1] for vertex in vertices]
    assert [int(vertex[0]) for vertex in vertices] == list(range(len(vertices)))
    assert names == sorted(set(names)) and edges == sorted(set(edges)) and all(a != b for a, b in edges)
    return vertices, {(names[a], names[b]) for a, b in edges}


def leads(url, capture):
    """Where a page leads, as the crawl looks at it: links of every kind that a page can be found by."""
    if capture.location:
        return {urljoin(url, capture.location)}
    if url not in pages({url: capture}):
        return set()
    page, found = read(capture), set()
    base = urljoin(url, page.base or "")
    for tag, attrs in page.tags:
        rel = (attrs.get("rel") or "").split()
        if tag in ("a", "area") or tag == "link" and set(rel) & {"next", "prev", "canonical", "alternate"}:
            found.add(attrs.get("href"))
        elif tag in ("frame", "iframe"):
            found.add(attrs.get("src"))
        elif tag == "meta" and (attrs.get("http-equiv") or "").lower() == "refresh":
            found.add(attrs["content"].split("=", 1)[-1])
    absolute = {written(urldefrag(urljoin(base, href))[0], capture.charset) for href in found if href and not href.startswith("#")}
    return {to if urlsplit(to).path else to + "/" for to in absolute if to.startswith("http")} - {url}


def written(url, charset):
    """As browsers send it: the path in UTF-8, the query in the page's own charset."""
    path, mark, query = url.partition("?")
    return quote(path, safe="/:%~!$&'()*+,;=@") + mark + quote(query, safe="/:%~!$&'()*+,;=@?", encoding=charset)


def vertex(level, url):
    host = urlsplit(url).hostname
    if level == "page":
        return url
    labels = host.removeprefix("www.").split(".") if level == "host" else host.split(".")[-2:]
    return ".".join(reversed(labels))


def links(export, captures, level):
    vertices, edges = graph(export)
    told = {(url, to) for url, capture in captures.items() for to in leads(url, capture)}
    wanted = {(vertex(level, a), vertex(level, b)) for a, b in told}
    same("edges", edges, {(a, b) for a, b in wanted if a != b})
    names = {vertex(level, url) for url in captures} | {name for edge in wanted for name in edge}
    same("vertices", {v[1] for v in vertices}, names)
    if level == "domain":
        hosts = {urlsplit(url).hostname.removeprefix("www.") for url in set(captures) | {to for _, to in told}}
        for _, name, count in vertices:
            assert int(count) == sum(vertex("domain", f"http://{host}/") == name for host in hosts), name
    anchors = os.path.join(export, "anchors.tsv.gz")
    texts = 0
    if os.path.exists(anchors):
        with gzip.open(anchors, "rt", encoding="utf-8") as stream:
            for line in stream:
                source, to, text = line.rstrip("\n").split("\t")
                assert (source, to) in told and " ".join(text.split()) in " ".join(read(captures[source]).text.split()), line
                texts += 1
    return {"vertices": len(vertices), "edges": len(edges), "anchors": texts}


# github.com/commoncrawl/cc-index-table, src/main/resources/schema/cc-index-schema-flat.json, with what duckdb calls the types.
TEXTS = """url_surtkey url url_host_name url_host_tld url_host_2nd_last_part url_host_3rd_last_part url_host_4th_last_part
url_host_5th_last_part url_host_registry_suffix url_host_registered_domain url_host_private_suffix url_host_private_domain
url_host_name_reversed url_protocol url_port url_path url_query fetch_time fetch_status fetch_redirect content_digest content_mime_type
content_mime_detected content_charset content_languages content_truncated warc_filename warc_record_offset warc_record_length warc_segment
crawl subset""".split()
OTHERS = {"url_port": "INTEGER", "fetch_time": "TIMESTAMP WITH TIME ZONE", "fetch_status": "SMALLINT", "warc_record_offset": "INTEGER",
          "warc_record_length": "INTEGER"}
RIGHTS = [("rights_robots_tag", "VARCHAR"), ("rights_robots_status", "SMALLINT"), ("rights_robots_filename", "VARCHAR"),
          ("rights_robots_offset", "BIGINT")]
OWN = [("depth", "INTEGER"), ("title", "VARCHAR"), ("out_links", "BIGINT"), ("usage", "VARCHAR"), ("seq", "BIGINT")]


# Queries of Common Crawl's own, word for word, conditions on the crawl and all (cc-index-table, src/sql/examples/cc-index/).
QUERIES = {
    "tlds": """SELECT COUNT(*) AS n_pages,
       url_host_tld AS tld,
       COUNT(DISTINCT url_host_name) AS n_hosts,
       COUNT(DISTINCT url_host_registered_domain) AS n_domains
FROM "ccindex"."ccindex"
WHERE crawl = 'CC-MAIN-2018-05'
  AND subset = 'warc'
GROUP BY  url_host_tld
ORDER BY  n_pages DESC;""",
    "types": """SELECT COUNT(*) as n_pages,
       content_mime_type,
       content_mime_detected
FROM "ccindex"."ccindex"
WHERE crawl = 'CC-MAIN-2018-05'
  AND subset = 'warc'
GROUP BY content_mime_type,
         content_mime_detected
ORDER BY n_pages DESC;""",
    "statuses": """SELECT COUNT(*) as count,
       fetch_status
FROM "ccindex"."ccindex"
WHERE crawl = 'CC-MAIN-2018-05'
  AND subset = 'crawldiagnostics'
GROUP BY  fetch_status
ORDER BY  count DESC;""",
}
# The same for our hosts.
DOMAINS = """select count(*), url_host_registered_domain from ccindex.ccindex where crawl = 'CC-MAIN-2018-05' and subset = 'warc'
group by url_host_registered_domain"""


def common_crawl(db):
    db.execute("create schema ccindex")
    db.execute("create view ccindex.ccindex as select * from main.ccindex")
    return {name: db.execute(query).fetchall() for name, query in (QUERIES | {"domains": DOMAINS}).items()}


def parquet(export, captures, folder):
    import duckdb

    db = duckdb.connect()
    db.execute(f"create view ccindex as select * from read_parquet('{export}')")
    columns = [(name, kind) for name, kind, *_ in db.execute("describe ccindex").fetchall()]
    known = [(name, OTHERS.get(name, "VARCHAR")) for name in TEXTS] + OWN
    assert columns in (known, known + RIGHTS), columns
    rows = db.execute(
        "select url_surtkey, url, fetch_status, epoch_ms(fetch_time), warc_filename, warc_record_offset, warc_record_length, content_digest,"
        " title, content_languages, content_mime_type, fetch_redirect from ccindex"
    ).fetchall()
    keys = [(row[0], row[1], row[3]) for row in rows]
    assert keys == sorted(keys)
    same("pages", {row[1] for row in rows}, set(captures))
    languages = {}
    for surt, url, status, _, file, offset, length, digest, title, language, mime, redirect in rows:
        capture = captures[url]
        assert (file, offset, status) == (capture.file, capture.offset, capture.status), url
        with open(os.path.join(folder, file), "rb") as stream:
            stream.seek(offset)
            record = next(iter(ArchiveIterator(stream)))
            assert record.rec_headers.get_header("WARC-Target-URI") == url
            assert record.rec_headers.get_header("WARC-Payload-Digest") == f"sha1:{digest}", url
            stream.seek(offset + length)
            rest = stream.read(2)
            assert rest in (b"", b"\x1f\x8b"), url
        if url in pages(captures):
            assert (title or "") == " ".join(read(capture).title.split()) and mime == "text/html", url
            languages[language] = languages.get(language, 0) + 1
        assert (redirect is not None) == (capture.location is not None), url
    robots = set()
    if columns != known:
        of = "select url, rights_robots_filename, rights_robots_offset, rights_robots_status, epoch_ms(fetch_time) from ccindex"
        for url, file, offset, status, fetched in db.execute(of).fetchall():
            with open(os.path.join(folder, file), "rb") as stream:
                stream.seek(offset)
                record = next(iter(ArchiveIterator(stream)))
                assert record.rec_headers.get_header("WARC-Target-URI") == f"http://{urlsplit(url).netloc}/robots.txt", url
                date = datetime.fromisoformat(record.rec_headers.get_header("WARC-Date").replace("Z", "+00:00"))
                assert date.timestamp() * 1000 <= fetched and int(record.http_headers.get_statuscode()) == status, url
            robots.add((file, offset))
    asked = common_crawl(db)
    assert sum(row[0] for row in asked["tlds"]) == sum(200 <= c.status < 300 for c in captures.values())
    assert dict((status, count) for count, status in asked["statuses"]) == collections.Counter(
        c.status for c in captures.values() if not 200 <= c.status < 300
    )
    assert asked["tlds"] and asked["tlds"][0][1:] == ("test", len({urlsplit(url).hostname for url in captures}), len({row[1] for row in asked["domains"]}))
    return {"rows": len(rows), "columns": len(columns), "languages": languages, "robots": len(robots)}


def mirror(export, captures):
    """Every reference between captured pages leads to a file of the mirror; no other leads to a file at all."""
    root, files, resolved, outside = os.path.realpath(export), 0, 0, 0
    there = {url for url, capture in captures.items() if capture.status < 300 or capture.location}
    targets = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            assert not os.path.islink(path) and os.path.realpath(path).startswith(root + os.sep)
            if path == os.path.join(root, "MANIFEST.json"):
                continue
            files += 1
            if not name.endswith((".html", ".htm")):
                continue
            with open(path, "rb") as stream:
                body = stream.read()
            page = parsed(body, charset_of(None, body))
            assert not page.base, path
            found = []
            for tag, attrs in page.tags:
                found += [value for key, value in attrs.items() if key in ("href", "src") and value]
                if tag == "meta" and (attrs.get("http-equiv") or "").lower() == "refresh":
                    found.append(attrs["content"].split("=", 1)[-1])
            for href in found:
                parts = urlsplit(href)
                if parts.scheme in ("http", "https"):
                    assert urldefrag(href)[0] not in there, f"{path}: {href} is in the mirror"
                    outside += 1
                elif not parts.scheme and parts.path:
                    target = os.path.normpath(os.path.join(folder, unquote(parts.path)))
                    assert not parts.path.startswith("/") and target.startswith(root + os.sep), f"{path}: {href}"
                    assert os.path.isfile(target), f"{path}: {href} leads to no file"
                    targets.setdefault(path, set()).add(target)
                    resolved += 1
    return {"files": files, "resolved": resolved, "outside": outside, "edges": sum(len(t) for t in targets.values())}


def main():
    form, export, folder = sys.argv[1:4]
    captures = archive(folder)
    if form == "parquet":
        told = parquet(export, captures, folder)
    elif form.startswith("links-"):
        told = links(export, captures, form.removeprefix("links-"))
    else:
        told = {"wet": wet, "wat": wat, "mirror": mirror}[form](export, captures)
    print(json.dumps(told))


if __name__ == "__main__":
    main()
