#!/bin/bash
# Makes dist/lycosa_VERSION_ARCH.deb with dpkg-deb. Usage: make-deb.sh BINARY VERSION EPOCH
set -euo pipefail

binary=$1 version=$2 epoch=$3
architecture=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

install -D -m 755 --strip "$binary" "$root/usr/bin/lycosa"
install -D -m 644 config/lycosa.toml "$root/etc/lycosa/lycosa.toml"
install -D -m 644 config/lycosa.service "$root/lib/systemd/system/lycosa.service"
# Laid out as in the sources, so that the links of the README lead somewhere.
doc=$root/usr/share/doc/lycosa
for file in README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE config/lycosa.toml config/quickstart.toml config/broad.toml; do
    [ ! -f "$file" ] || install -D -m 644 "$file" "$doc/$file"
done
ln -s config "$doc/examples"
cp -r --no-preserve=mode docs "$doc/docs"
{ cat LICENSE-MIT; printf '\nor, as you prefer:\n\n'; cat LICENSE-APACHE; } >"$root/usr/share/doc/lycosa/copyright"
chmod 644 "$root/usr/share/doc/lycosa/copyright"

# The oldest C library that has the symbols the program uses.
libc=$(objdump -T "$binary" | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -Vu | tail -n 1)
size=$(du -sk "$root" | cut -f 1)

mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<CONTROL
Package: lycosa
Version: $version
Architecture: $architecture
Maintainer: The Lycosa authors <lycosa@localhost>
Installed-Size: $size
Depends: libc6 (>= $libc), libstdc++6, libgcc-s1, adduser
Section: web
Priority: optional
Description: polite web crawler that loses nothing when killed
 Lycosa crawls sites as their robots.txt allows, stores the pages as WARC
 files with a CDXJ index, and goes on where it was after any interruption.
CONTROL
echo /etc/lycosa/lycosa.toml >"$root/DEBIAN/conffiles"

cat >"$root/DEBIAN/postinst" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    adduser --system --group --quiet --home /var/lib/lycosa --no-create-home lycosa
    install -d -o lycosa -g lycosa -m 750 /var/lib/lycosa
    [ ! -d /run/systemd/system ] || systemctl daemon-reload || true
fi
SCRIPT
cat >"$root/DEBIAN/prerm" <<'SCRIPT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now lycosa.service || true
fi
SCRIPT
# The crawl in /var/lib/lycosa is the operator's and stays, even on purge.
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"

find "$root" -newermt "@$epoch" -print0 | xargs -0r touch --no-dereference --date="@$epoch"
package=dist/lycosa_${version}_$architecture.deb
SOURCE_DATE_EPOCH=$epoch dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "dist: $package" >&2
