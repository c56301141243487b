#!/bin/bash
# Packs dist/lycosa-VERSION-ARCH-linux.tar.gz and dist/lycosa_VERSION_ARCH.deb. Usage: make-dist.sh BINARY
set -euo pipefail

binary=$1
version=$(sed -nE '0,/^version = /s/^version = "(.*)"/\1/p' Cargo.toml)
name=lycosa-$version-$(uname -m)-linux
# The time of the last commit, so that the same sources give the same archive.
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p dist

documents() {
    for file in README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE; do
        [ ! -f "$file" ] || install -D -m 644 "$file" "$1/$file"
    done
    [ ! -d docs ] || cp -r --no-preserve=mode docs "$1/docs"
}

tarball() {
    local root=$work/$name
    install -D -m 755 --strip "$binary" "$root/lycosa"
    documents "$root"
    install -d "$root/config"
    install -m 644 config/*.toml config/lycosa.service "$root/config/"
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" -cf - "$name" |
        gzip -n >"dist/$name.tar.gz"
    echo "dist: dist/$name.tar.gz" >&2
}

tarball
config/make-deb.sh "$binary" "$version" "$epoch"
