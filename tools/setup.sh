#!/bin/sh
# Installs what is missing, and nothing else: Debian or Ubuntu packages, a virtual environment in .venv, croupier in it.
# It asks nothing and says in a line what it does. Arguments: what pip installs ("." or ".[test]").
set -eu
cd "$(dirname "$0")/.."

say() { echo "setup: $*"; }

# program:package pairs; sandboxes see only /usr, so only programs there count
wanted="bwrap:bubblewrap gcc:gcc g++:g++ javac:default-jdk-headless sbcl:sbcl make:make"
case "${1:-.}" in *test*) wanted="$wanted ecl:ecl clisp:clisp chromium:chromium chromedriver:chromium-driver npm:npm" ;; esac
packages=""
for pair in $wanted; do
    program=${pair%%:*}
    [ -x "/usr/bin/$program" ] || [ -x "/usr/local/bin/$program" ] || packages="$packages ${pair#*:}"
done
[ -x /usr/bin/python3 ] || [ -x /usr/local/bin/python3 ] || packages="$packages python3"
[ -e /usr/include/stdio.h ] || packages="$packages libc6-dev"
find /usr/lib /lib -name 'libseccomp.so.2' 2>/dev/null | grep -q . || packages="$packages libseccomp2"

python=""
for candidate in python3 python3.13 python3.12 python3.11; do
    if command -v "$candidate" >/dev/null && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    say "croupier needs Python 3.11 or newer, and this machine has none; on Debian 12, Ubuntu 24.04 or newer: apt install python3"
    [ -n "$packages" ] || exit 1
    packages="$packages python3"
    python=python3
fi
[ -x .venv/bin/python ] || "$python" -c 'import ensurepip' 2>/dev/null || packages="$packages python3-venv"

if [ -n "$packages" ]; then
    if ! command -v apt-get >/dev/null; then
        say "please install by hand (this is no Debian or Ubuntu):$packages"
        exit 1
    fi
    root=""
    [ "$(id -u)" = 0 ] || root="sudo"
    say "installing$packages"
    $root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
    # shellcheck disable=SC2086 # a list of words
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
fi

if [ ! -x .venv/bin/python ]; then
    say "making a virtual environment in .venv"
    "$python" -m venv .venv
fi
stamp=.venv/installed-$(printf %s "${1:-.}" | tr -c 'a-z\n' _)
if [ ! -e "$stamp" ] || [ pyproject.toml -nt "$stamp" ]; then
    say "installing croupier into .venv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -e "${1:-.}"
    touch "$stamp"
fi
