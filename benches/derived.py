#!/usr/bin/env python3
"""What is made of the pages: CPU, memory and disk of the index, searches, exports, the feed, as tables for benches/RESULTS.md.

    benches/derived.py [--binary LYCOSA] [--hosts 10] [--pages 10000] [--shape "--links 50 …"] [--queries 500] [--data DIR] [--only PART,…]

`make bench` runs it. It crawls the program's own test web with an index into DIR (or takes what is there), and then measures the parts: `index`
(CPU, anonymous memory, bytes on disk, and a second build of it at rest), `export` (each format, CPU of the process alone), `feed` (all
entries by HTTP, CPU of the daemon), `search` (random words of the pages, by HTTP, warm) and `found` (how long after its commit a page is found).
CPU is user and system time: what else the machine does counts little in it. Times of the clock are worth reading on a quiet machine only.
"""

import argparse
import http.server
import json
import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

FORMATS = ["jsonl", "jsonl --text --links", "cdxj", "warc", "wacz", "sitemap", "wet", "wat", "links", "parquet", "mirror"]
SHAPE = "--links 50 --min-size 12000 --max-size 12288 --robots allow --seed 7 --off-host 0.5"
PARTS = ["index", "export", "feed", "search", "found"]
TICK = os.sysconf("SC_CLK_TCK")
# Searches of the endpoint that are made before any is timed.
WARM = 100


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of(pid):
    """Seconds of user and system time of a process that runs."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def anonymous(pid):
    """MB of anonymous memory of a process."""
    found = re.search(r"RssAnon:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(found.group(1)) / 1024 if found else 0


def size(folder):
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def head(*cells):
    print()
    row(*cells)
    row(*["---"] + ["--:"] * (len(cells) - 1))


class Web:
    """`lycosa testweb`, and the settings that lead a crawl there."""

    def __init__(self, binary, hosts, pages, shape):
        command = [binary, "testweb", "--listen", "127.0.0.1:0", "--hosts", str(hosts), "--pages", str(pages), *shape.split()]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.port = next(re.search(r"127\.0\.0\.1:(\d+)", line).group(1) for line in self.process.stdout if "127.0.0.1:" in line)
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        self.own = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        threading.Thread(target=self.own.serve_forever, daemon=True).start()

    def settings(self):
        at = f"127.0.0.1:{self.port}"
        return ["--seed", "http://h0.test/", "--allow-net", f"127.0.0.1/32:{self.port}"] + [
            word for setting in [
                f'dns.overrides={{ "*.test" = "{at}", "own.test" = "127.0.0.1:{self.own.server_port}" }}', "scope.mode=any", "politeness.min_delay=0s", "politeness.delay_factor=0",
                "crawl.max_depth=none", "log.level=warn", "disk.pause_below=100MB", "checkpoint.every=0s",
            ] for word in ("--set", setting)]

    def end(self):
        self.process.terminate()
        self.process.wait()


class Echo(http.server.BaseHTTPRequestHandler):
    """A page that says its path."""

    def do_GET(self):
        body = f"<title>own</title><p>{self.path[1:]}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Measured:
    """A process whose CPU, and peak of anonymous memory, is known in the end."""

    def __init__(self, command):
        before, self.anonymous, self.began = cpu_of_children(), 0, time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        watch = threading.Thread(target=self.watch, args=[process])
        watch.start()
        self.out, self.err = process.communicate()
        watch.join()
        self.seconds, self.cpu = time.monotonic() - self.began, cpu_of_children() - before
        if process.returncode != 0:
            sys.exit(f"{command} ended with {process.returncode}: {self.err}")

    def watch(self, process):
        while process.poll() is None:
            try:
                self.anonymous = max(self.anonymous, anonymous(process.pid))
            except (OSError, ValueError):
                return
            time.sleep(0.1)


class Daemon:
    """A crawl that is done, whose endpoint answers."""

    def __init__(self, binary, data, web):
        command = [binary, "run", "--data", data, "--no-progress", *web.settings(), "--set", "admin.listen=127.0.0.1:0",
                   "--set", "index.enabled=true", "--set", "index.refresh=10s", "--set", "log.level=info"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.at = next(line.split("address=http://")[1].strip() for line in self.process.stderr if "address=http://" in line)
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        while self.get("index").get("doing") != "waiting":
            time.sleep(0.2)

    def get(self, path):
        return json.loads(self.read(path))

    def read(self, path):
        while True:
            try:
                with urllib.request.urlopen(f"http://{self.at}/api/v1/{path}") as answer:
                    return answer.read()
            except urllib.error.HTTPError as error:
                if error.code not in (429, 503):
                    raise
                time.sleep(0.1)  # it answers so many requests a second

    def end(self):
        self.process.terminate()
        self.process.wait()


def index(args, pages, data, work):
    """What the index takes: built at rest from the archive, so that nothing else is in the figures."""
    stored = size(data / "index")
    again = work / "again"
    shutil.copytree(data, again, ignore=shutil.ignore_patterns("index", "warc"), copy_function=os.link)
    os.symlink(data.resolve() / "warc", again / "warc")
    build = Measured([args.binary, "index", "build", "--data", str(again), "--no-progress"])
    documents = json.loads(subprocess.run([args.binary, "index", "status", "--json", "--data", again], check=True,
                                          capture_output=True, text=True).stdout)["documents"]
    head("index, built at rest", "documents", "CPU µs a page", "s", "peak anonymous MB", "bytes on disk a page")
    row("", documents, f"{build.cpu / documents * 1e6:.0f}", f"{build.seconds:.0f}", f"{build.anonymous:.0f}", f"{stored / documents:.0f}")


def exports(args, pages, data, work):
    head("export", "pages", "CPU s", "pages/s of CPU", "s", "peak anonymous MB", "MB written")
    for form in args.formats or FORMATS:
        name, *options = form.split()
        to = work / f"out-{name}"
        made = Measured([args.binary, "export", name, *options, "--data", str(data), "--to", str(to), "--no-progress", "--json"])
        told = json.loads(made.out)
        counted, written = told["counts"]["pages"], sum(file["bytes"] for file in told["files"])
        row(form, counted, f"{made.cpu:.2f}", f"{counted / made.cpu:.0f}", f"{made.seconds:.1f}", f"{made.anonymous:.0f}", f"{written / 1e6:.0f}")
        for path in work.glob(f"out-{name}*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def feed(daemon):
    """All entries as lines, in pieces of as many as an answer has."""
    after, entries, pid = 0, 0, daemon.process.pid
    cpu, began = cpu_of(pid), time.monotonic()
    while lines := [line for line in daemon.read(f"feed?format=ndjson&after={after}").splitlines() if line.startswith(b'{"seq"')]:
        entries += len(lines)
        after = json.loads(lines[-1])["seq"]
    cpu, seconds = cpu_of(pid) - cpu, time.monotonic() - began
    head("feed", "entries", "entries/s of CPU", "entries/s")
    row("as lines by HTTP", entries, f"{entries / max(cpu, 0.01):.0f}", f"{entries / seconds:.0f}")


def texts_of(daemon, dice, count):
    """Words in a row of pages picked at random."""
    last, texts = daemon.get("feed?limit=1")["high"], []
    while len(texts) < count:
        item = daemon.get(f"feed?limit=1&after={dice.randrange(last)}")["items"]
        card = daemon.get("page?include=card&url=" + urllib.parse.quote(item[0]["url"], safe=""))["card"] if item else None
        words = re.findall(r"[^\W\d_]{3,}", (card or {}).get("abstract") or "")
        if len(words) > 3:
            texts.append((words, item[0]["url"]))
    return texts


def search(args, daemon):
    dice = random.Random(15)
    texts = texts_of(daemon, dice, 300)

    def words(count):
        text = dice.choice(texts)[0]
        at = dice.randrange(len(text) - count + 1)
        return " ".join(text[at:at + count])

    kinds = {
        "a number of a title": lambda: str(dice.randrange(args.pages)),
        "a word": lambda: words(1),
        "two words": lambda: f"{words(1)} {words(1)}",
        "a phrase of three": lambda: f'"{words(3)}"',
        "links:": lambda: "links:" + dice.choice(texts)[1],
    }
    documents, pid = daemon.get("index")["documents"], daemon.process.pid
    head(f"search of {documents} documents", "queries", "hits (median)", "p50 ms", "p99 ms", "CPU ms a query")
    for kind, make in kinds.items():
        queries = [urllib.parse.quote(make()) for _ in range(WARM + args.queries)]
        times, totals, cpu = [], [], 0
        for nth, query in enumerate(queries):
            if nth == WARM:
                cpu = cpu_of(pid)
            began = time.monotonic()
            answer = daemon.get(f"search?q={query}")
            if nth >= WARM:
                times.append((time.monotonic() - began) * 1e3)
                totals.append(answer["total"])
        cpu = (cpu_of(pid) - cpu) / args.queries * 1e3
        times.sort()
        row(kind, len(times), f"{statistics.median(totals):.0f}", f"{statistics.median(times):.1f}", f"{times[len(times) * 99 // 100]:.1f}", f"{cpu:.1f}")


def found(daemon):
    """From the commit of a page (the feed's time) until a search finds it."""
    waits = []
    for _ in range(5):
        high = daemon.get("feed?limit=1")["high"]
        mark = f"mark{random.randrange(10**9)}"
        body = json.dumps({"urls": [f"http://own.test/{mark}"]}).encode()
        request = urllib.request.Request(f"http://{daemon.at}/api/v1/seeds", body, {"Content-Type": "application/json"})
        urllib.request.urlopen(request).read()
        until = time.monotonic() + 60
        while not daemon.get(f"search?q={mark}")["total"] and time.monotonic() < until:
            time.sleep(0.1)
        seen = time.time()
        items = daemon.get(f"feed?limit=1000&after={high}")["items"]
        committed = next(item["committed_ms"] for item in items if mark in item["url"])
        waits.append(seen - committed / 1e3)
    head("found after its commit, index.refresh = 10s", "pages", "median s", "longest s")
    row("", len(waits), f"{statistics.median(waits):.1f}", f"{max(waits):.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=str(Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "release/lycosa"))
    parser.add_argument("--hosts", type=int, default=10)
    parser.add_argument("--pages", type=int, default=1000, help="of each host")
    parser.add_argument("--shape", default=SHAPE)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--data", help="a folder to keep; one that is there is taken as it is")
    parser.add_argument("--only", type=lambda text: text.split(","), default=PARTS)
    parser.add_argument("--formats", type=lambda text: text.split(","), default=None)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        data = Path(args.data) if args.data else work / "data"
        web = Web(args.binary, args.hosts, args.pages, args.shape)
        try:
            measure(args, data, work, web)
        finally:
            web.end()


def measure(args, data, work, web):
    if not data.exists():
        crawl = Measured([args.binary, "run", "--until-done", "--no-progress", "--data", str(data), *web.settings(),
                          "--set", "admin.listen=off", "--set", "index.enabled=true"])
        pages = int(re.search(r"pages stored\s+(\d+)", crawl.out).group(1))
        head("crawl with its index", "pages", "CPU µs a page", "s", "peak anonymous MB")
        row("", pages, f"{crawl.cpu / pages * 1e6:.0f}", f"{crawl.seconds:.0f}", f"{crawl.anonymous:.0f}")
    pages = args.hosts * args.pages
    if "index" in args.only:
        index(args, pages, data, work)
    if "export" in args.only:
        exports(args, pages, data, work)
    if not {"feed", "search", "found"} & set(args.only):
        return
    daemon = Daemon(args.binary, str(data), web)
    try:
        if "feed" in args.only:
            feed(daemon)
        if "search" in args.only:
            search(args, daemon)
        if "found" in args.only:
            found(daemon)
    finally:
        daemon.end()


if __name__ == "__main__":
    main()
