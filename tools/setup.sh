#!/bin/sh
# Install whatever is missing: Debian or Ubuntu packages, a virtual environment in .venv, and croupier in it.
# Ask no questions, and print one line for each step. Argument: the project as pip installs it ("." or ".[test]").
set -eu
cd "$(dirname "$0")/.."

say() { echo "setup: $*"; }

# Pairs of program:package. Only programs in /usr count, because sandboxes contain nothing else.
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
    say "croupier needs Python 3.11 or newer, which this machine lacks; on Debian 12 or Ubuntu 24.04: apt install python3"
    [ -n "$packages" ] || exit 1
    packages="$packages python3"
    python=python3
fi
[ -x .venv/bin/python ] || "$python" -c 'import ensurepip' 2>/dev/null || packages="$packages python3-venv"

if [ -n "$packages" ]; then
    if ! command -v apt-get >/dev/null; then
        say "this is not Debian or Ubuntu; please install these packages yourself:$packages"
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
    say "creating a virtual environment in .venv"
    "$python" -m venv .venv
fi
stamp=.venv/installed-$(printf %s "${1:-.}" | tr -c 'a-z\n' _)
if [ ! -e "$stamp" ] || [ pyproject.toml -nt "$stamp" ]; then
    say "installing croupier into .venv"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -e "${1:-.}"
    touch "$stamp"
fi
