"""Checks the archive files of a crawl with warcio and FastWARC.

    python tests/warc_tools.py FOLDER [--manifest FILE]

For every WARC in FOLDER (closed, or still `.open`): `warcio check` passes, both readers see the same records and decode
every body to the same bytes, all digests are right, and every CDXJ line finds its record and the index is complete and
sorted. With a manifest (JSON: URL -> {"status": int, "body": SHA-256 in hex of the decoded body}) the captures must be
exactly those. warcio knows no zstd: it reads a `.warc.zst` as a copy of gzip members. Prints one line of counts; faults go to standard error and the exit code is 1.

`WARC-Payload-Digest` is over the body without transfer coding (WARC 1.1, 5.9). Of a body stored with its chunks (`store.http_body =
"exact"`) both tools compute it over the chunk lines too and call the digest wrong (webrecorder/warcio, issue 75); so for these, and
for these alone, that one complaint is expected, and the digest is checked here.
"""

import argparse
import base64
import contextlib
import gzip
import hashlib
import io
import json
import pathlib
import sys
import tempfile

import brotli
import warcio.cli
from fastwarc.stream_io import ZstdReader
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import BufferedReader, ChunkedDataReader

FAULTS = []


class Brotli:
    """warcio sets `unused_data` on the decompressor, which that of the brotli package does not allow since 1.0."""

    unused_data = None

    def __init__(self):
        self.decompress = brotli.Decompressor().process


BufferedReader.DECOMPRESSORS["br"] = Brotli


def fault(where, what):
    FAULTS.append(f"{where}: {what}")


def unpacked(member):
    """A record; a zstd frame is taken off."""
    return ZstdReader(io.BytesIO(member)).read() if member.startswith(b"\x28\xb5\x2f\xfd") else member


def for_warcio(warc, folder):
    """The file as warcio reads it, and what tells the true place of a record in it."""
    if ".warc.zst" not in warc.name:
        return warc, int
    places = [record.stream_pos for record in FastIterator(str(warc), parse_http=False)]
    data, copy, true = warc.read_bytes(), folder / warc.name, {}
    with open(copy, "wb") as out:
        for begin, end in zip(places, [*places[1:], len(data)]):
            true[out.tell()] = begin
            out.write(gzip.compress(unpacked(data[begin:end]), 1))
    return copy, true.__getitem__


def sha256_of(stream):
    digest = hashlib.sha256()
    while piece := stream.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def is_chunked(http):
    return http is not None and (http.get_header("Transfer-Encoding") or "").lower() == "chunked"


def payload_digest(stream):
    digest = hashlib.sha1()
    while piece := stream.read(1 << 20):
        digest.update(piece)
    return "sha1:" + base64.b32encode(digest.digest()).decode()


def chunked_records(warc):
    """The offsets of the records with chunks; their payload digests are checked."""
    chunked = set()
    with open(warc, "rb") as stream:
        iterator = ArchiveIterator(stream)
        for record in iterator:
            found = None
            if record.rec_type == "response" and is_chunked(record.http_headers):
                found = payload_digest(ChunkedDataReader(record.raw_stream))
            said = record.rec_headers.get_header("WARC-Payload-Digest")
            offset = iterator.get_record_offset()  # reads the record to its end
            if found is not None:
                chunked.add(offset)
                if found != said:
                    fault(warc.name, f"at {offset} the payload has {found}, and {said} is said")
    return chunked


def warcio_check(warc, chunked):
    """The command `warcio check`, in this process so that it has the decompressor above."""
    said, code = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(said):
            warcio.cli.main(["check", str(warc)])
    except SystemExit as end:
        code = end.code
    offset, complaints = None, set()
    for line in said.getvalue().splitlines()[1:]:
        words = line.split()
        if words[0] == "offset":
            offset = int(words[1])
        elif words[:3] == ["payload", "digest", "failed"] and offset in chunked:
            complaints.add(offset)
        else:
            fault(warc.name, f"warcio check: at {offset} {line}")
    if code != (1 if complaints else 0):
        fault(warc.name, f"warcio check: exit code {code} {said.getvalue()}")


def read_with_warcio(warc, chunked):
    """(type, URL, status, SHA-256 of the decoded body) of each record, with its offset."""
    records = {}
    with open(warc, "rb") as stream:
        iterator = ArchiveIterator(stream, check_digests=True)
        for record in iterator:
            kind, url = record.rec_type, record.rec_headers.get_header("WARC-Target-URI")
            status = record.http_headers.get_statuscode() if kind in ("response", "revisit") else None
            body = sha256_of(record.content_stream()) if kind == "response" else None
            offset = iterator.get_record_offset()  # reads the record to its end
            wrong = [p for p in record.digest_checker.problems if offset not in chunked or "block" in p]
            if wrong:
                fault(warc.name, f"at {offset} warcio says {wrong}")
            records[offset] = (kind, url, status, body)
    return records


def decoded(record):
    coding = record.http_headers.get("Content-Encoding", "").lower()
    known = coding if coding in BufferedReader.get_supported_decompressors() else None
    return BufferedReader(io.BytesIO(record.reader.read()), decomp_type=known)


def read_with_fastwarc(warc, chunked):
    """The same; in its lenient mode, since exact heads may have lines that end with LF alone."""
    records = {}
    for record in FastIterator(str(warc), parse_http=False):
        kind = record.headers.get("WARC-Type")
        bare = kind == "response" and "WARC-Block-Digest" not in record.headers  # `store.block_digest = false`
        if not bare and not record.verify_block_digest():
            fault(warc.name, f"fastwarc: block digest of the {kind} at {record.stream_pos}")
    for record in FastIterator(str(warc), parse_http=True, quirks_mode=True):
        wanted = record.record_type == WarcRecordType.response and record.stream_pos not in chunked
        if wanted and not record.verify_payload_digest():
            fault(warc.name, f"fastwarc: payload digest of the response at {record.stream_pos}")
    # With "all" FastWARC ends at a record that has chunks and a content coding, and says nothing.
    decode = "transfer" if chunked else "all"
    for record in FastIterator(str(warc), parse_http=True, auto_decode=decode, quirks_mode=True):
        kind = record.headers.get("WARC-Type")
        http = kind in ("response", "revisit")
        status = str(record.http_headers.status_code) if http else None
        stream = record.reader if decode == "all" or kind != "response" else decoded(record)
        body = sha256_of(stream) if kind == "response" else None
        records[record.stream_pos] = (kind, record.headers.get("WARC-Target-URI"), status, body)
    return records


def compare(warc, one, other):
    for offset in sorted(one.keys() | other.keys()):
        if one.get(offset) != other.get(offset):
            fault(warc.name, f"at {offset} warcio reads {one.get(offset)}, fastwarc {other.get(offset)}")


def check_order(warc, records):
    """A warcinfo record comes first and is the only one."""
    kinds = [records[offset][0] for offset in sorted(records)]
    if kinds[:1] != ["warcinfo"] or kinds.count("warcinfo") != 1:
        fault(warc.name, f"begins with {kinds[:1]} and has {kinds.count('warcinfo')} warcinfo records")


def check_index(warc, records):
    opened = warc.name.endswith(".open")
    name = warc.name.removesuffix(".open")
    index = warc.with_name(name.removesuffix(".warc.gz").removesuffix(".warc.zst") + ".cdxj" + (".open" if opened else ""))
    lines = index.read_bytes().splitlines(keepends=True)
    if not opened and lines != sorted(lines):
        fault(index.name, "is not sorted by bytes")
    data = warc.read_bytes()
    seen = set()
    for line in lines:
        _key, time, text = line.decode("utf-8").split(" ", 2)
        entry = json.loads(text)
        offset, length = int(entry["offset"]), int(entry["length"])
        seen.add(offset)
        check_line(index.name, name, entry, time, data[offset : offset + length], records.get(offset))
    expected = {offset for offset, record in records.items() if record[0] in ("response", "revisit")}
    if seen != expected:
        fault(index.name, f"lacks {sorted(expected - seen)[:5]}, has too many {sorted(seen - expected)[:5]}")


def check_line(where, name, entry, time, member, record):
    found = list(ArchiveIterator(io.BytesIO(unpacked(member))))
    if len(found) != 1 or record is None:
        return fault(where, f"{entry['url']}: {len(found)} records at {entry['offset']}")
    headers = found[0].rec_headers
    said = {
        "url": headers.get_header("WARC-Target-URI"),
        "digest": headers.get_header("WARC-Payload-Digest"),
        "status": record[2] or "-",
        "filename": name,
    }
    for field, value in said.items():
        if entry[field] != value:
            fault(where, f"{entry['url']}: {field} is {entry[field]!r}, in the record {value!r}")
    if (entry["mime"] == "warc/revisit") != (record[0] == "revisit"):
        fault(where, f"{entry['url']}: mime {entry['mime']} for a {record[0]}")
    if time != "".join(c for c in headers.get_header("WARC-Date") if c.isdigit())[:14]:
        fault(where, f"{entry['url']}: time {time}")


def check_manifest(captures, manifest):
    for url in sorted(captures.keys() | manifest.keys()):
        expected = manifest.get(url)
        if url not in captures or expected is None:
            fault(url, "is not in the WARC" if expected else "is in the WARC and not expected")
            continue
        kind, status, body = captures[url]
        if status != str(expected["status"]):
            fault(url, f"has status {status}, expected {expected['status']}")
        if kind == "response" and body != expected["body"]:
            fault(url, "has another body")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("--manifest", type=pathlib.Path)
    options = arguments.parse_args()
    captures, counts = {}, {}
    endings = [".warc.gz", ".warc.gz.open", ".warc.zst", ".warc.zst.open"]
    warcs = sorted(warc for ending in endings for warc in options.folder.glob("*" + ending))
    for warc in warcs:
        with tempfile.TemporaryDirectory() as folder:
            copy, true = for_warcio(warc, pathlib.Path(folder))
            chunked = chunked_records(copy)
            warcio_check(copy, chunked)
            records = {true(at): record for at, record in read_with_warcio(copy, chunked).items()}
            chunked = {true(at) for at in chunked}
        compare(warc, records, read_with_fastwarc(warc, chunked))
        counts["chunked"] = counts.get("chunked", 0) + len(chunked)
        check_order(warc, records)
        check_index(warc, records)
        for kind, url, status, body in records.values():
            counts[kind] = counts.get(kind, 0) + 1
            if kind in ("response", "revisit"):
                captures[url] = (kind, status, body)
    if options.manifest:
        check_manifest(captures, json.loads(options.manifest.read_text()))
    if not warcs:
        fault(options.folder, "has no WARC")
    print(f"{len(warcs)} WARC files, records: {counts}, faults: {len(FAULTS)}")
    for line in FAULTS[:50]:
        print(line, file=sys.stderr)
    sys.exit(1 if FAULTS else 0)


main()
