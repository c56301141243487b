#!/usr/bin/env python3
"""What a page costs by one program and another, or by one setting and another: CPU in alternating runs, instructions by valgrind.

    benches/costs.py NAME=LYCOSA[;KEY=VALUE]… … [--rounds 10] [--pages 4000] [--links 50] [--hosts 1] [--web N] [--counted 300,1500] [--repeats 1]
                     [--folder DIR] [--only cpu,instructions] [--functions 0]

    benches/costs.py 'before=old/lycosa' 'off=new/lycosa;dedup.near=off' 'as shipped=new/lycosa'

Each crawls the same test web, or what a folder holds, on this machine; the first is what the others are compared with. *CPU* is user and system
time of the crawler's process: medians of rounds in which all take their turn, and the median of the rounds' ratios. *Instructions* (cachegrind, so that
valgrind is needed) hardly depend on what else the machine does: those of a larger crawl without those of a smaller one, over the pages
between them, so that start and end of the process are not in it. What the program does by the clock is in it, and valgrind is slow: some
thousands of instructions a page of it are such. `--functions N` prints the functions that changed most.
"""

import argparse
import functools
import http.server
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from derived import cpu_of_children, head, row

COUNT = "valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file={out}"
SHAPE = "--min-size 12000 --max-size 12288 --robots allow --seed 7 --off-host 0.5"


class Web:
    """`lycosa testweb` with so many pages a host."""

    def __init__(self, binary, args, pages):
        pages = args.web or pages
        command = [binary, "testweb", "--listen", "127.0.0.1:0", "--hosts", str(args.hosts), "--pages", str(pages // args.hosts), "--links", str(args.links)]
        self.process = subprocess.Popen(command + SHAPE.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.port = int(next(re.search(r"127\.0\.0\.1:(\d+)", line).group(1) for line in self.process.stdout if "127.0.0.1:" in line))
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        self.seeds, self.name = ["http://h0.test/"], "*.test"

    def end(self):
        self.process.terminate()
        self.process.wait()


class Folder:
    """The files of a folder, by a server of Python's; `index.html` of each folder in it is a seed."""

    def __init__(self, folder):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.port, self.name = self.server.server_port, "pages.test"
        found = sorted(Path(folder).rglob("index.html"), key=lambda path: (len(path.parts), path))
        shallow = [path for path in found if len(path.parts) == len(found[0].parts)]
        self.seeds = [f"http://pages.test/{path.relative_to(folder)}" for path in shallow]

    def end(self):
        self.server.shutdown()


def crawl(variant, web, under=(), most=None):
    """Pages stored and seconds of CPU of one crawl."""
    _, binary, settings = variant
    folder = tempfile.mkdtemp()
    command = [*under, binary, "run", "--until-done", "--no-progress", "--data", f"{folder}/data", "--allow-net", f"127.0.0.1/32:{web.port}"]
    command += [word for seed in web.seeds for word in ("--seed", seed)]
    command += ["--max-pages", str(most)] if most else []
    everywhere = f'dns.overrides={{ "{web.name}" = "127.0.0.1:{web.port}" }}'
    plain = ["politeness.min_delay=0s", "politeness.delay_factor=0", "admin.listen=off", "log.level=warn", "disk.pause_below=100MB", "checkpoint.every=0s",
             "scope.mode=any", "crawl.max_depth=none", everywhere]
    command += [word for setting in plain + settings for word in ("--set", setting)]
    before = cpu_of_children()
    done = subprocess.run(command, capture_output=True, text=True)
    cpu = cpu_of_children() - before
    shutil.rmtree(folder)
    pages = re.search(r"^pages stored +(\d+)", done.stdout, re.M)
    if not pages or done.returncode != 0 and not under:  # under valgrind a stop may take longer than the program waits
        sys.exit(f"{command} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return int(pages.group(1)), cpu


def cpu(variants, args):
    web = Folder(args.folder) if args.folder else Web(variants[0][1], args, args.pages)
    took = {name: [] for name, *_ in variants}
    for nth in range(args.rounds):
        for variant in variants[nth % len(variants):] + variants[:nth % len(variants)]:
            pages, seconds = crawl(variant, web, most=args.pages if args.web else None)
            took[variant[0]].append(seconds / pages * 1e6)
    web.end()
    head(f"CPU µs a page, {args.rounds} rounds of {pages} pages", "median", "least", "most", "of the first: least", "median of rounds")
    first = took[variants[0][0]]
    for name, all_of in took.items():
        ratio = statistics.median(now / was for now, was in zip(all_of, first))
        row(name, f"{statistics.median(all_of):.0f}", f"{min(all_of):.0f}", f"{max(all_of):.0f}", f"{min(all_of) / min(first):.3f}", f"{ratio:.3f}")


def counted(variant, web, most):
    """Pages, and the instructions of each function."""
    with tempfile.NamedTemporaryFile() as out:
        pages, _ = crawl(variant, web, COUNT.format(out=out.name).split(), most)
        functions, at = {}, None
        for line in Path(out.name).read_text().splitlines():
            if line.startswith("fn="):
                at = re.sub(r"::h[0-9a-f]{16}$", "", line[3:])
            elif line[:1].isdigit():
                functions[at] = functions.get(at, 0) + int(line.split()[1])
    return pages, functions


def instructions(variants, args):
    each = {}
    for repeat in range(args.repeats):
        for name, *rest in variants:
            found = []
            for pages in args.counted:
                web = Folder(args.folder) if args.folder else Web(variants[0][1], args, pages)
                found.append(counted((name, *rest), web, pages if args.folder or args.web else None))
                web.end()
            (less, before), (more, after) = found
            of = {f: (after.get(f, 0) - before.get(f, 0)) / (more - less) for f in {*before, *after}}
            each.setdefault(name, []).append(of)
    head(f"instructions a page, thousands, {args.counted[0]} to {args.counted[1]} pages", "each time", "median", "of the first")
    first = statistics.median(sum(of.values()) for of in each[variants[0][0]])
    for name, times in each.items():
        sums = [sum(of.values()) for of in times]
        row(name, " ".join(f"{all_of / 1e3:.1f}" for all_of in sums), f"{statistics.median(sums) / 1e3:.1f}", f"{statistics.median(sums) / first:.4f}")
    for name, times in list(each.items())[1:] if args.functions else []:
        was, now = each[variants[0][0]][0], times[0]
        changed = sorted({*was, *now}, key=lambda f: -abs(now.get(f, 0) - was.get(f, 0)))
        head(f"functions: {name}", "before", "now")
        for function in changed[:args.functions]:
            row(function, f"{was.get(function, 0):.0f}", f"{now.get(function, 0):.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--pages", type=int, default=4000)
    parser.add_argument("--links", type=int, default=50)
    parser.add_argument("--hosts", type=int, default=1)
    parser.add_argument("--web", type=int, help="pages that there are; no more are crawled than is said elsewhere")
    parser.add_argument("--counted", type=lambda text: [int(n) for n in text.split(",")], default=[300, 1500])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folder")
    parser.add_argument("--only", default="cpu,instructions")
    parser.add_argument("--functions", type=int, default=0)
    args = parser.parse_args()
    variants = []
    for text in args.variants:
        name, _, rest = text.partition("=")
        binary, *settings = rest.split(";")
        variants.append((name, binary, settings))
    if "cpu" in args.only:
        cpu(variants, args)
    if "instructions" in args.only:
        instructions(variants, args)


if __name__ == "__main__":
    main()
