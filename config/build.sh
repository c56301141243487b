#!/bin/bash
# Builds the program in the release profile and shows how far RocksDB is while it is compiled.
# `build.sh COMMAND...` runs another command that builds, such as `cargo test`, in the same way.
set -euo pipefail

# Objects that make up RocksDB 11.
readonly OBJECTS=343

target=${CARGO_TARGET_DIR:?}
native() { compgen -G "$target/release/build/librocksdb-sys-*/out/librocksdb.a" >/dev/null; }

objects() { find "$target/release/build" -path '*librocksdb-sys-*/out/*.o' 2>/dev/null | wc -l; }

progress() {
    local nap=
    trap 'kill "$nap" 2>/dev/null; exit 0' TERM
    while :; do
        sleep 30 &
        nap=$!
        wait "$nap"
        native && return
        printf 'build: RocksDB, %s of %s parts compiled\n' "$(objects)" "$OBJECTS" >&2
    done
}

if ! native; then
    echo "build: the first build compiles RocksDB, which takes 15-25 minutes on two cores; later ones are quick." >&2
    echo "build: it is kept in $target" >&2
fi
[ $# -gt 0 ] || set -- cargo build --release --locked

watcher=
if ! native; then
    progress &
    watcher=$!
    trap '[ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true' EXIT
fi
"$@"
