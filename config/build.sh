#!/bin/bash
# Builds the program in the release profile and shows how far RocksDB is while it is compiled.
# `build.sh --announce` only says how long the build that follows will take.
set -euo pipefail

# Objects that make up RocksDB 11.
readonly OBJECTS=343

target=${CARGO_TARGET_DIR:?}
native() { compgen -G "$target/release/build/librocksdb-sys-*/out/librocksdb.a" >/dev/null; }

objects() { find "$target/release/build" -path '*librocksdb-sys-*/out/*.o' 2>/dev/null | wc -l; }

progress() {
    while sleep 30; do
        native && return
        printf 'build: RocksDB, %s of %s parts compiled\n' "$(objects)" "$OBJECTS" >&2
    done
}

if ! native; then
    echo "build: the first build compiles RocksDB, which takes 15-25 minutes on two cores; later ones are quick." >&2
    echo "build: it is kept in $target" >&2
fi
[ "${1:-}" = --announce ] && exit 0

watcher=
if ! native; then
    progress &
    watcher=$!
    trap '[ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true' EXIT
fi
cargo build --release --locked
