#!/bin/bash
# Crawls a practice web on this machine: starts `lycosa testweb` on a free port, crawls it until done, ends it.
# Each crawl has a folder of its own, practice/DATE: not the one of a real crawl, whose seeds and counts are its own.
# Usage: practice.sh BINARY [ARGUMENTS OF lycosa run]
set -euo pipefail

binary=$1
data=practice/$(date +%Y%m%d-%H%M%S)
shift

started=$(mktemp)
web=
finish() {
    [ -z "$web" ] || kill "$web" 2>/dev/null || true
    rm -f "$started"
}
trap finish EXIT

"$binary" testweb --listen 127.0.0.1:0 --hosts 8 --pages 40 --seed 1 >"$started" &
web=$!
address=
for _ in $(seq 100); do
    address=$(sed -nE 's|^testweb listening on http://([^ ]+).*|\1|p' "$started")
    [ -n "$address" ] && break
    kill -0 "$web" 2>/dev/null || break
    sleep 0.1
done
[ -n "$address" ] || { echo "practice: the practice web did not start" >&2; exit 1; }

echo "practice: no SEED given, so a practice web of 8 hosts is crawled, served on $address by this machine." >&2
echo "practice: your own site: make run SEED=https://your.site/ CONTACT=you@your.site" >&2
outcome=0
"$binary" run --seed http://h0.test/ --data "$data" --until-done --index \
    --allow-net "127.0.0.1/32:${address##*:}" \
    --set "dns.overrides={ \"*.test\" = \"$address\" }" \
    --set scope.mode=any --set politeness.min_delay=20ms --set politeness.delay_factor=1 \
    --set disk.pause_below=100MB --set admin.listen=127.0.0.1:0 "$@" || outcome=$?
echo "practice: the pages are in $data/warc" >&2
[ "$outcome" -ne 0 ] || echo "practice: search them: $binary search 'winter river' --data $data" >&2
exit "$outcome"
