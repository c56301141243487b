#!/usr/bin/env python3
"""What it costs to crawl as a member: CPU a page of one machine, of a cluster of one, and of three members on the same cores.

    benches/cluster.py --nats NATS-SERVER [--binary LYCOSA] [--hosts 2000] [--pages 5] [--rounds 3] [--servers 1]

The three take turns on the program's own test web (the workload `broad` of benches/end_to_end/, smaller). CPU is user and system time of all
crawlers (getrusage), the engine's apart; messages and bytes are those that the engine's servers count (varz). Pages a second of three members on one
machine say nothing and are not shown.
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from statistics import median

SHAPE = "--links 50 --min-size 12000 --max-size 12288 --robots allow --seed 7 --off-host 0.5"
COMMON = ["politeness.min_delay=0s", "log.level=info", "disk.pause_below=100MB", "scope.mode=any"]
TICK = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def cpu_of(pid):
    """Seconds of a process that runs."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


class Engine:
    """One server, or more, each with its folder and its monitoring port."""

    def __init__(self, program, count, folder):
        clients, monitors, routes = ([free_port() for _ in range(count)] for _ in range(3))
        self.urls, self.monitors, self.processes = [f"nats://127.0.0.1:{port}" for port in clients], monitors, []
        for nth in range(count):
            command = [program, "-js", "-a", "127.0.0.1", "-p", str(clients[nth]), "-m", str(monitors[nth])]
            command += ["-sd", str(folder / f"engine-{nth}"), "-n", f"e{nth}"]
            if count > 1:
                others = ",".join(f"nats://127.0.0.1:{port}" for port in routes)
                command += ["-cluster_name", "bench", "-cluster", f"nats://127.0.0.1:{routes[nth]}", "-routes", others]
            self.processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        for port in monitors:
            self.until_ready(port)

    @staticmethod
    def until_ready(port):
        for _ in range(600):
            try:
                if urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz").status == 200:
                    return
            except OSError:
                time.sleep(0.1)
        sys.exit("cluster: the engine does not become ready")

    def counted(self):
        """CPU seconds, messages and bytes that members have sent."""
        of = [json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/varz")) for port in self.monitors]
        cpu = sum(cpu_of(process.pid) for process in self.processes)
        return cpu, sum(server["in_msgs"] for server in of), sum(server["in_bytes"] for server in of)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


def testweb(options):
    command = [options.binary, "testweb", "--listen", "127.0.0.1:0", "--hosts", str(options.hosts), "--pages", str(options.pages)]
    process = subprocess.Popen(command + SHAPE.split(), stdout=subprocess.PIPE, text=True)
    found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
    return process, int(found.group(1))


def crawl(options, members):
    """CPU µs a page of one crawl; members 0: without [cluster]."""
    folder = Path(tempfile.mkdtemp(prefix="lycosa-bench-"))
    web, port = testweb(options)
    engine = Engine(options.nats, options.servers, folder) if members else None
    try:
        common = COMMON + [f'dns.overrides={{ "*.test" = "127.0.0.1:{port}" }}']
        if engine:
            servers = json.dumps(engine.urls)
            common += ["cluster.name=bench", f"cluster.servers={servers}", f"cluster.store={folder / 'store'}", "cluster.lease=60s"]
        running = []
        for nth in range(max(members, 1)):
            command = [options.binary, "run", "--until-done", "--no-progress", "--seed", "http://h0.test/"]
            command += ["--data", str(folder / f"n{nth}"), "--allow-net", f"127.0.0.1/32:{port}"]
            own = common + (["admin.listen=off", f"cluster.node=n{nth}"] if engine else ["admin.listen=off"])
            for setting in own:
                command += ["--set", setting]
            log = open(folder / f"n{nth}.log", "w")
            running.append(subprocess.Popen(command, stdout=log, stderr=log))
            if nth == 0 and members > 1:
                until(folder / "n0.log", "crawl begins")
        used = []
        for process in running:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            used.append(usage.ru_utime + usage.ru_stime)
        if any(process.returncode for process in running):
            sys.exit(f"cluster: a crawl failed; see {folder}")
        pages = sum(len((folder / f"n{nth}/crawl.jsonl").read_text().splitlines()) for nth in range(len(running)))
        counted = engine.counted() if engine else (0, 0, 0)
        shutil.rmtree(folder)
        return {
            "pages": pages,
            "cpu": sum(used) / pages * 1e6,
            "engine": counted[0] / pages * 1e6,
            "messages": counted[1] / pages,
            "bytes": counted[2] / pages,
        }
    finally:
        web.kill()
        web.wait()
        if engine:
            engine.end()


def until(log, words):
    for _ in range(600):
        if words in log.read_text():
            return
        time.sleep(0.1)
    sys.exit(f"cluster: {words!r} was not said; see {log}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nats", required=True)
    parser.add_argument("--binary", default="target/release/lycosa")
    parser.add_argument("--hosts", type=int, default=2000)
    parser.add_argument("--pages", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--servers", type=int, default=1)
    options = parser.parse_args()
    kinds = {"one machine": 0, "a cluster of one": 1, "three members": 3}
    rows = {kind: [] for kind in kinds}
    for nth in range(options.rounds):
        for kind, members in kinds.items():
            print(f"cluster: round {nth + 1} of {options.rounds}, {kind}", file=sys.stderr)
            rows[kind].append(crawl(options, members))
    of = lambda kind, key: median(row[key] for row in rows[kind])
    base = of("one machine", "cpu")
    print("| | pages | CPU µs a page | of one machine's | engine, CPU µs a page | messages a page | bytes a page |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for kind in kinds:
        cells = [of(kind, key) for key in ("pages", "cpu", "engine", "messages", "bytes")]
        print(f"| {kind} | {cells[0]:,.0f} | {cells[1]:,.0f} | {cells[1] / base:.3f} | {cells[2]:,.1f} | {cells[3]:.3f} | {cells[4]:,.0f} |")


if __name__ == "__main__":
    main()
