"""Hands each export to the programs that it is for, and says how much they found in it (tests/export_programs.rs).

export_programs.py FOLDER WARC_DIR: FOLDER holds pages.jsonl.gz (--all), index.cdxj (--all), warcs/ (--all), site.wacz, maps/, wet/, wat/,
pages.parquet, host/ (links), mirror/. Prints a JSON object of counts, or fails and says what is wrong. Programs: jq, xmllint, linkchecker
(Debian), and what `tests/tools/readers.txt` installs beside this Python: wacz, pywb, pyarrow, networkx, FastWARC.
"""

import collections
import contextlib
import csv
import gzip
import hashlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import fastwarc
import networkx
import pyarrow.parquet
from warcio.archiveiterator import ArchiveIterator

BESIDE = pathlib.Path(sys.executable).parent


def run(*command, **more):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"fault: {command[0]} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def check(holds, what):
    if not holds:
        sys.exit(f"fault: {what}")


def jq(path):
    text = gzip.decompress(path.read_bytes()).decode()
    lines = run("jq", "-r", "[.url, .capture.status, .card.language] | @tsv", input=text).splitlines()
    check(all(len(line.split("\t")) == 3 for line in lines), "a line that jq reads otherwise")
    return len(lines)


def fast(folder):
    """Records by type; every digest is checked."""
    kinds = collections.Counter()
    for path in sorted(folder.glob("*.gz")):
        with path.open("rb") as stream:
            for record in fastwarc.ArchiveIterator(stream, parse_http=False):
                check("WARC-Block-Digest" not in record.headers or record.verify_block_digest(), f"{path}: {record.record_id}")
                kinds[record.headers["WARC-Type"]] += 1
    return kinds


def indexed(warcs):
    """What pywb's own indexer makes of the files, against the lines of their indexes: where each capture is, and what it is."""
    told = lambda text: {
        (line.split(" ")[1], said["url"], said["filename"], said["offset"], said["length"], said.get("status"), said["mime"])
        for line in text.splitlines()
        for said in [json.loads(line[line.index("{") :])]
    }
    own = {line for path in warcs.glob("*.cdxj") for line in told(path.read_text())}
    pywb = told(run(BESIDE / "cdxj-indexer", *sorted(warcs.glob("*.warc.gz"))))
    check(own == pywb, f"indexes: {sorted(own - pywb, key=str)[:3]} not told by pywb, {sorted(pywb - own, key=str)[:3]} by it alone")
    return len(own)


def stamp(date):
    """Of a WARC's time that of an index: 14 digits."""
    return "".join(sign for sign in date if sign.isdigit())[:14]


def bodies(warcs):
    """Status and digest of the decoded body of each response, by time and URL; of a revisit those of the response that it refers to."""
    found, refers = {}, {}
    for path in sorted(warcs.glob("*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                header = record.rec_headers.get_header
                key = stamp(header("WARC-Date")), header("WARC-Target-URI")
                if record.rec_type == "response":
                    found[key] = int(record.http_headers.get_statuscode()), hashlib.sha256(record.content_stream().read()).digest()
                elif record.rec_type == "revisit":
                    refers[key] = stamp(header("WARC-Refers-To-Date")), header("WARC-Refers-To-Target-URI")
    return found | {key: found[of] for key, of in refers.items() if key not in found}


@contextlib.contextmanager
def wayback(files, indexes):
    """pywb, serving these; gives the URL of the collection."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        own = pathlib.Path(folder) / "collections" / "own"
        for name, of in (("archive", files), ("indexes", indexes)):
            (own / name).mkdir(parents=True)
            for path in of:
                shutil.copy(path, own / name)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        log = open(f"{folder}/log", "w+")
        server = subprocess.Popen([BESIDE / "wayback", "-b", "127.0.0.1", "-p", str(port)], cwd=folder, stdout=log, stderr=log)
        try:
            for _ in range(600):
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                check(server.poll() is None, (log.seek(0), log.read()))
                time.sleep(0.1)
            yield f"http://127.0.0.1:{port}/own"
        finally:
            server.kill()
            server.wait()


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def replayed(warcs, indexes):
    """Every capture of the indexes, by its own time and URL, has the status and the body that it was captured with."""
    asker, known = urllib.request.build_opener(Stay), bodies(warcs)
    keys = {(line.split(" ")[1], json.loads(line[line.index("{") :])["url"]) for path in indexes for line in path.read_text().splitlines()}
    with wayback(warcs.glob("*.warc.gz"), indexes) as root:
        for time_, url in sorted(keys):
            try:
                answer = asker.open(f"{root}/{time_}id_/{url}")
            except urllib.error.HTTPError as error:
                answer = error
            body = answer.read()
            if answer.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            found, wanted = (answer.status, hashlib.sha256(body).digest()), known[(time_, url)]
            check(found == wanted, f"{time_} {url}: {answer.status} with {len(body)} bytes, {wanted[0]} expected")
    return len(keys)


def sitemaps(folder):
    files = sorted(folder.glob("*.xml"))
    run("xmllint", "--noout", *files)
    return sum(int(run("xmllint", "--xpath", "count(//*[local-name()='loc'])", path)) for path in files if "index" not in path.name)


def graph(folder):
    with gzip.open(folder / "vertices.txt.gz", "rt", encoding="utf-8") as lines:
        names = [line.split("\t")[1].strip() for line in lines]
    with gzip.open(folder / "edges.txt.gz", "rb") as lines:
        made = networkx.read_edgelist(lines, delimiter="\t", create_using=networkx.DiGraph, nodetype=int)
    made.add_nodes_from(range(len(names)))
    check(made.number_of_nodes() == len(names) and not list(networkx.selfloop_edges(made)), "vertices of the graph")
    return made.number_of_edges()


def linked(folder):
    """How many links linkchecker follows from the start pages; none may lead to nothing."""
    with tempfile.TemporaryDirectory() as beside:
        # As root it reads with the rights of nobody.
        os.chmod(beside, 0o755)
        root = shutil.copytree(folder, os.path.join(beside, "mirror"))
        starts = sorted(map(str, pathlib.Path(root).glob("*/index.html")))
        command = ["linkchecker", "--no-warnings", "--no-status", "--verbose", "--threads", "2", "--output", "csv", *starts]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        rows = [row for row in csv.DictReader((line for line in done.stdout.splitlines() if not line.startswith("#")), delimiter=";")]
        check(rows and done.returncode in (0, 1), f"linkchecker ended with {done.returncode}: {done.stderr[-2000:]}")
        for row in rows:
            if row["valid"] != "True":
                # It takes escapes on a page in GBK for GBK; browsers, as the URL standard says, for UTF-8.
                target = urllib.parse.unquote(urllib.parse.urljoin(row["parentname"], row["urlname"])).removeprefix("file://")
                check("%" in row["urlname"] and os.path.isfile(target), f"{row['parentname']}: {row['urlname']}: {row['result']}")
        return sum(row["url"].startswith("file:") for row in rows)


def main():
    folder, archive = map(pathlib.Path, sys.argv[1:3])
    table = pyarrow.parquet.read_table(folder / "pages.parquet")
    check(table.num_rows == len(set(table["url"].to_pylist())), "a URL comes twice")
    validated = run(BESIDE / "wacz", "validate", "-f", folder / "site.wacz")
    told = {
        "jq": jq(folder / "pages.jsonl.gz"),
        "pyarrow": table.num_rows,
        "wacz": "Validation succeeded" in validated,
        "fastwarc": {name: fast(folder / name) for name in ("wet", "wat", "warcs")},
        "pywb_indexes": indexed(folder / "warcs"),
        "archive_indexes": indexed(archive),
        "archive_replays": replayed(archive, [folder / "index.cdxj"]),
        "pywb_replays": replayed(folder / "warcs", sorted((folder / "warcs").glob("*.cdxj"))),
        "xmllint": sitemaps(folder / "maps"),
        "networkx": graph(folder / "host"),
        "linkchecker": linked(folder / "mirror"),
    }
    print(json.dumps(told))


main()
