#!/usr/bin/env python3
"""Where every microsecond goes: CPU a page by stage, as a table for docs/performance.md.

    benches/budget.py [--only real,broad] [--rounds 3] [--binary LYCOSA] [--rate 1499] [--top 0] [--rest 0]

`make profile` runs it. Each workload of benches/end_to_end/ is crawled in turns as it is and under `perf record`. The
CPU time of a page comes from the runs without perf (getrusage), the shares from the samples of the others. STAGES, KERNEL
and START_THREADS below say which stage a sample belongs to; whoever names a module anew or adds one says it there.

Kernel functions are seen by root only, or where kernel.perf_event_paranoid is at most 1 and kptr_restrict is 0.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from statistics import median

START = "start and end of the process"
OTHER = "other"

# Threads that work before the crawl and after it only; the program's own name is one of them.
START_THREADS = {"taskset", "perf", "lycosa"}

# A sample within the kernel: the first rule one of whose words is in any of its kernel frames.
KERNEL = [
    (START, "do_exit execve load_elf"),
    ("kernel: memory", "exc_page_fault sys_mmap sys_munmap sys_madvise sys_mprotect sys_brk sys_mremap"),
    ("kernel: network", "sys_recv sys_send sys_connect sys_socket sys_bind sys_getsockopt sys_setsockopt sys_shutdown"
                        " sys_getpeername sys_getsockname sys_close sock_ tcp_ epoll_ctl net_rx"),
    ("kernel: wake-ups", "futex epoll eventfd exit_to_user_mode schedule nanosleep rseq"),
    ("kernel: files", "ext4 xfs btrfs vfs_ sys_write sys_pwrite sync sys_open sys_rename sys_unlink stat"),
    ("kernel: interrupts and the rest", ""),
]

# Any other sample: from the function at work up through its callers, the first that a rule matches. So what matches
# nothing (sorting, formatting, hashing, searching bytes) counts for whoever called it.
STAGES = [
    ("allocator", r"^(malloc|calloc|realloc|free|posix_memalign|operator (new|delete)|[sdm]+allocx|do_rallocx|_rjem_)"),
    ("memory copied, filled, compared", r"^__(memmove|memcpy|memset|memcmp)_"),
    ("deflate", r"zlib_rs::|flate2::|lycosa::warc::member"),
    ("digests", r"sha1::|sha2::|blake3|lycosa::warc::digest"),
    ("text print", r"lycosa::domain::textprint"),
    ("charset", r"lycosa::content::charset|encoding_rs::|chardetng::"),
    ("HTML tokenizer and links", r"lycosa::content::html"),
    ("what else is read of a page", r"lycosa::(content|crawl::parser::(inspect|page))"),
    ("records", r"lycosa::warc|lycosa::domain::secret_header|lycosa::crawl::store::archive"),
    ("links to keys: URL, scope, traps", r"lycosa::domain::(url|scope|traps|host|fingerprint|cut|rank)|\bidna::|\bpsl::"
                                         r"|lycosa::crawl::(admit|parser)|\burl::|percent_encoding::"),
    ("hosts, frontier, politeness", r"lycosa::crawl::(host|frontier|politeness|slot|strikes|supplier)|lycosa::domain"),
    ("seen set and ledger (RocksDB)", r"rocksdb|fastbloom|LZ4_|ZSTD_|lycosa::(storage|crawl::(deduper|store|seen))"),
    ("TLS", r"rustls|\bring(_core|::)|webpki|boring|lycosa::net::(tls|http::secure)"),
    ("HTTP", r"lycosa::(net|document)|httparse|\bhttp::|hickory|lycosa::crawl::fetcher"),
    ("metrics, events, logs", r"lycosa::telemetry|prometheus_client|env_logger|lycosa::admin"),
    ("actors and messages", r"lycosa::crawl|lycosa::app|actix|tokio|\bmio::|crossbeam|futures"),
]
WORDS = [(stage, re.compile("|".join(map(re.escape, words.split())))) for stage, words in KERNEL]
PATTERNS = [(stage, re.compile(pattern)) for stage, pattern in STAGES]
ROWS = [stage for stage, _ in STAGES] + [stage for stage, _ in KERNEL[1:]] + [START, OTHER]
# Who called these is said besides.
FOR_OTHERS = [stage for stage, _ in STAGES[:2]]


def stage_of(thread, frames, patterns=PATTERNS):
    """The stage of one sample; frames are (in the kernel, symbol), the function at work first."""
    if thread in START_THREADS:
        return START
    kernel = [symbol for inside, symbol in frames if inside]
    if frames[0][0]:
        return next(stage for stage, words in WORDS if any(words.search(symbol) for symbol in kernel))
    for _, symbol in frames:
        for stage, pattern in patterns:
            if pattern.search(symbol):
                return stage
    return START if any(symbol.startswith(("_dl_", "dl_")) for _, symbol in frames) else OTHER


def samples(recording):
    """(thread, frames) of each sample. An inlined function counts for the one it is in: to find them takes minutes."""
    command = ["perf", "script", "-i", recording, "-F", "comm,tid,ip,sym", "--no-inline"]
    script = subprocess.run(command, check=True, capture_output=True, text=True)
    for line in script.stderr.splitlines():
        if "lost" in line:
            print(f"budget: {line}", file=sys.stderr)
    for block in script.stdout.split("\n\n"):
        head, *lines = [line for line in block.splitlines() if line.strip()] or [""]
        frames = [line.split(maxsplit=1) for line in lines]
        # Rust's older symbol names end in a hash.
        frames = [(f[0].startswith("ffffffff8"), re.sub(r"::h[0-9a-f]{16}$", "", f[1])) for f in frames if len(f) == 2]
        if frames:
            yield head.rsplit(maxsplit=1)[0], frames


def bench(options, workload, under=None):
    """CPU µs a page of one run."""
    command = ["cargo", "bench", "--quiet", "--locked", "--profile", "release", "--bench", "end_to_end", "--"]
    command += ["--no-wget", "--only", workload]
    command += ["--binary", options.binary] if options.binary else []
    command += ["--under", under] if under else []
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    lines = [line for line in output.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    if len(rows) != 3 or len(rows[2]) < len(rows[0]):
        sys.exit(f"budget: {workload} gave no row:\n{output}")
    return float(dict(zip(rows[0], rows[2]))["CPU µs a page"])


class Profile:
    """What was found of one workload."""

    def __init__(self, options, workload):
        self.cost, self.stages, self.threads, self.functions = [], Counter(), Counter(), Counter()
        self.callers, self.rest = Counter(), Counter()
        for _ in range(options.rounds):
            self.cost.append(bench(options, workload))
            with tempfile.NamedTemporaryFile(prefix="lycosa-perf-") as recording:
                # Frame pointers are not kept in release builds: callers are found by the stack and its unwind tables.
                record = f"perf record -q -F {options.rate} --call-graph dwarf,16384 -o {recording.name} --"
                bench(options, workload, record)
                for thread, frames in samples(recording.name):
                    self.add(thread, frames)

    def add(self, thread, frames):
        stage = stage_of(thread, frames)
        self.stages[stage] += 1
        self.threads[re.sub(r"-?\d+$", "", thread)] += 1
        self.functions[stage, frames[0][1]] += 1
        if stage in FOR_OTHERS:
            self.callers[stage_of(thread, frames, PATTERNS[2:])] += 1
        if stage == OTHER:
            self.rest[" < ".join(symbol for _, symbol in frames[:5])] += 1

    def share(self, count):
        return count / max(1, self.stages.total())

    def cells(self, count):
        return f"{median(self.cost) * self.share(count):.0f} | {100 * self.share(count):.1f}"


def table(profiles):
    """Rows of stages, two columns a workload."""
    names = list(profiles)
    print("| stage | " + " | ".join(f"`{name}` µs a page | %" for name in names) + " |")
    print("|---|" + "--:|--:|" * len(names))
    for stage in ROWS:
        if any(profile.stages[stage] for profile in profiles.values()):
            cells = [profile.cells(profile.stages[stage]) for profile in profiles.values()]
            print(f"| {stage} | " + " | ".join(cells) + " |")
    print("| **all** | " + " | ".join(profile.cells(profile.stages.total()) for profile in profiles.values()) + " |")


def details(options, name, profile):
    explained = 100 * (1 - profile.share(profile.stages[OTHER]))
    costs = ", ".join(f"{cost:.0f}" for cost in profile.cost)
    print(f"\n`{name}`: {profile.stages.total()} samples, {explained:.1f} % explained; CPU µs a page by run: {costs}.")
    threads = [(thread, profile.share(count)) for thread, count in profile.threads.most_common()]
    print("Threads: " + ", ".join(f"{thread} {100 * share:.0f} %" for thread, share in threads if share >= 0.005) + ".")
    callers = [f"{stage} {100 * profile.share(count):.1f} %" for stage, count in profile.callers.most_common(8)]
    print("The first two rows by the stage that called them: " + "; ".join(callers) + ".")
    for (stage, function), count in profile.functions.most_common(options.top):
        print(f"  {100 * profile.share(count):5.1f} %  {stage}: {function}")
    for chain, count in profile.rest.most_common(options.rest):
        print(f"  {100 * profile.share(count):5.2f} %  not explained: {chain}")


def main():
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--only", default="real,broad", help="workloads of the end-to-end benchmark")
    read.add_argument("--rounds", type=int, default=3, help="runs without perf and as many with it")
    read.add_argument("--binary", help="another lycosa than the one that cargo builds")
    read.add_argument("--rate", type=int, default=1499, help="samples a second")
    read.add_argument("--top", type=int, default=0, help="print so many functions that are most at work")
    read.add_argument("--rest", type=int, default=0, help="print so many stacks that no rule explains")
    options = read.parse_args()
    if not shutil.which("perf"):
        sys.exit("budget: perf is not installed: apt-get install linux-perf")
    if options.binary:
        START_THREADS.add(Path(options.binary).name[:15])
    profiles = {workload: Profile(options, workload) for workload in options.only.split(",")}
    table(profiles)
    for name, profile in profiles.items():
        details(options, name, profile)


if __name__ == "__main__":
    main()
