#!/bin/bash
# Installs what is missing for building (`setup.sh build`), for testing (`setup.sh test VENV PAGES`), for measuring
# (`setup.sh bench PAGES`, and with perf `setup.sh profile PAGES`), for the large tests of exports and search (`setup.sh large VENV DOCS`), and says so.
# Needs Debian or a relative of it, and root or sudo only when something is missing.
set -euo pipefail

readonly OLDEST_RUST=1.89

say() { printf 'setup: %s\n' "$*" >&2; }

die() {
    say "$*"
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "needs root or sudo for: $*"
    fi
}

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

# Installs the packages among its arguments that are missing.
packages() {
    local missing=()
    for package in "$@"; do
        installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    command -v apt-get >/dev/null || die "this system has no apt-get; install the equivalents of: ${missing[*]}"
    say "installing ${missing[*]}"
    apt_install "${missing[@]}" || {
        as_root apt-get update -qq
        apt_install "${missing[@]}" || die "could not install ${missing[*]}"
    }
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# A web server is installed for its program only: it must not start to serve.
without_services() {
    local policy=/usr/sbin/policy-rc.d
    if [ -e "$policy" ]; then
        "$@"
        return
    fi
    # However this ends, the machine may start its services again.
    trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
    local outcome=0
    ( "$@" ) || outcome=$?
    as_root rm -f "$policy"
    trap - EXIT
    return "$outcome"
}

# Its package enables the service for the next boot.
web_server() {
    if [ -n "$(type -P nginx)" ] || [ -x /usr/sbin/nginx ]; then
        return 0
    fi
    without_services packages nginx-light
    ! command -v systemctl >/dev/null || as_root systemctl disable --quiet nginx.service || true
}

# A program that may have come from elsewhere, and its package.
program() { [ -n "$(type -P "$1")" ] || packages "$2"; }

# The program alone; the package dnsmasq would start a service.
name_server() {
    [ -x /usr/sbin/dnsmasq ] || packages dnsmasq-base
}

rust() {
    command -v cargo >/dev/null || die "cargo is missing: install Rust $OLDEST_RUST or newer, see https://rustup.rs"
    local have
    have=$(cargo --version | sed -E 's/^cargo ([0-9]+\.[0-9]+).*/\1/')
    local oldest
    oldest=$(printf '%s\n%s\n' "$OLDEST_RUST" "$have" | sort -V | head -n 1)
    [ "$oldest" = "$OLDEST_RUST" ] || die "cargo $have is too old: install Rust $OLDEST_RUST or newer, see https://rustup.rs"
}

# A C++ compiler, cmake and git (BoringSSL's build applies a patch with it), and libclang with its headers. (libclang-cpp, which other packages bring, is not libclang.)
native() {
    command -v c++ >/dev/null || packages g++
    command -v cmake >/dev/null || packages cmake
    command -v make >/dev/null || packages make
    command -v git >/dev/null || packages git
    [ -n "${LIBCLANG_PATH:-}" ] && return 0
    if compgen -G '/usr/lib/llvm-*/lib/libclang[-.][s0-9]*' >/dev/null &&
        compgen -G '/usr/lib/llvm-*/lib/clang/*/include/stdbool.h' >/dev/null; then
        return 0
    fi
    packages libclang-dev
}

# The browser that looks at the live page, with a font for it. Where it cannot be had its tests are skipped, and say so.
browser() {
    [ -n "$(type -P chromium)" ] && return 0
    ( packages chromium fonts-dejavu-core ) || say "no Chromium: the tests of the live page are SKIPPED"
}

# Programs in Python of a list, such as the readers that judge our WARC files; pip runs only when the list has changed.
venv() {
    local venv=$1 list=$2
    [ -f "$list" ] || return 0
    cmp -s "$list" "$venv/requirements.txt" && return 0
    say "making $venv with other people's tools"
    python3 -m venv --help >/dev/null 2>&1 && python3 -c 'import ensurepip' 2>/dev/null || packages python3 python3-venv
    python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$list"
    cp "$list" "$venv/requirements.txt"
}

download() { ( cd "$1" && shift && apt-get download -qq "$@" ); }

# Real pages to crawl: the HTML of two Debian packages, unpacked beside the build, not installed.
pages() {
    local folder=$1 manual work
    [ -e "$folder/complete" ] && return 0
    command -v apt-get >/dev/null || die "the real pages are Debian packages; this system has no apt-get"
    say "unpacking python3-doc and debian-reference into $folder"
    apt-cache show debian-reference-en >/dev/null 2>&1 || as_root apt-get update -qq
    manual=$(LC_ALL=C apt-cache depends python3-doc | sed -nE 's/.*Depends: (python3\.[0-9]+-doc)$/\1/p' | head -n 1)
    work=$(mktemp -d)
    [ -n "$manual" ] || die "no python3-doc is known to apt; run apt-get update and look at its messages"
    # Old package lists name files that are no longer there.
    download "$work" "$manual" debian-reference-en 2>/dev/null || {
        as_root apt-get update -qq
        download "$work" "$manual" debian-reference-en || die "could not download $manual and debian-reference-en"
    }
    for package in "$work"/*.deb; do
        dpkg-deb -x "$package" "$work/root"
    done
    rm -rf "$folder"
    mkdir -p "$folder"
    mv "$work/root/usr/share/doc/${manual%-doc}/html" "$folder/python3-doc"
    mv "$work/root/usr/share/debian-reference" "$folder/debian-reference"
    rm -rf "$work"
    touch "$folder/complete"
}

# Debian's documentation in six languages, as HTML in LANGUAGE/BOOK/; unpacked, not installed.
documentation() {
    local folder=$1 work root language of_handbook of_guide rest
    [ -e "$folder/complete" ] && return 0
    command -v apt-get >/dev/null || die "the documentation is Debian packages; this system has no apt-get"
    local -a packages=(debian-handbook installation-guide-amd64 maint-guide debian-faq developers-reference)
    for language in en de fr ja zh-cn zh-tw; do
        packages+=("debian-reference-$language")
        [ "$language" = en ] || packages+=("maint-guide-$language")
        [[ "$language" = en || "$language" = zh-tw ]] || packages+=("debian-faq-$language")
        [[ "$language" = en || "$language" = zh-* ]] || packages+=("developers-reference-$language")
    done
    say "unpacking Debian's documentation into $folder"
    work=$(mktemp -d)
    download "$work" "${packages[@]}" 2>/dev/null || {
        as_root apt-get update -qq
        download "$work" "${packages[@]}" || die "could not download ${packages[*]}"
    }
    for package in "$work"/*.deb; do
        dpkg-deb -x "$package" "$work/root"
    done
    root=$work/root/usr/share
    rm -rf "$folder"
    while read -r language of_handbook of_guide; do
        [ "$language" = en ] && rest='' || rest=$language
        book "$folder/$language/handbook" "$root/doc/debian-handbook/html/$of_handbook"/*.html
        book "$folder/$language/install" "$root/doc/installation-guide-amd64/$of_guide"/*.html
        book "$folder/$language/reference" "$root/debian-reference"/*."$language".html
        book "$folder/$language/guide" "$root/doc/maint-guide${rest:+-$rest}/html"/*."$language".html
        book "$folder/$language/faq" "$root/doc/debian/FAQ/$rest"/*."$language".html
        book "$folder/$language/developers" "$root/developers-reference/$rest"/*.html
    done <<<'en en-US en
de de-DE de
fr fr-FR fr
ja ja-JP ja
zh-cn zh-CN zh_CN
zh-tw zh-TW zh_TW'
    rm -rf "$work"
    touch "$folder/complete"
}

# Copies those files that are there: not every book is in every language.
book() {
    [ -e "$2" ] || return 0
    mkdir -p "$1"
    cp "${@:2}" "$1"
}

case "${1:-}" in
build)
    rust
    native
    ;;
test)
    [ $# -eq 3 ] || die "usage: setup.sh test VENV PAGES"
    mkdir -p "$(dirname "$2")"
    venv "$2" tests/tools/requirements.txt
    web_server
    program wget wget
    name_server
    browser
    pages "$3"
    ;;
large)
    [ $# -eq 3 ] || die "usage: setup.sh large VENV DOCS"
    program jq jq
    program xmllint libxml2-utils
    program linkchecker linkchecker
    venv "$2" tests/tools/readers.txt
    documentation "$3"
    ;;
bench | profile)
    [ $# -eq 2 ] || die "usage: setup.sh $1 PAGES"
    mkdir -p "$(dirname "$2")"
    web_server
    program wget wget
    [ "$1" = bench ] || program perf linux-perf
    pages "$2"
    ;;
*)
    die "usage: setup.sh build | test VENV PAGES | large VENV DOCS | bench PAGES | profile PAGES"
    ;;
esac
