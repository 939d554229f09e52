#!/bin/sh
# Install whatever is missing: Debian or Ubuntu packages, a virtual environment in .venv, and croupier in it.
# Ask no questions, print one line for each step, and every few seconds what the step is doing. Argument: the project as pip installs it ("." or ".[test]").
set -eu
cd "$(dirname "$0")/.."

say() { echo "setup: $*"; }

# Run a command whose output nobody wants to read. Every five seconds print its last line; print all of it if it fails.
watched() {
    log=$(mktemp)
    (
        seconds=0
        while sleep 5 && kill -0 $$ 2>/dev/null; do # ends with this script
            seconds=$((seconds + 5))
            say "  $seconds s: $(tail -n 1 "$log" | tr -d '\r' | cut -c -80)"
        done
    ) &
    ticker=$! code=0
    "$@" >"$log" 2>&1 || code=$?
    kill $ticker 2>/dev/null || true
    [ $code = 0 ] || cat "$log"
    rm -f "$log"
    return $code
}

# Run apt-get. While another program holds its lock, as updates do in the first minutes of a new system, wait and say so.
patient_apt_get() {
    tries=0 errors=$(mktemp)
    until $root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get "$@" 2>"$errors"; do
        cat "$errors" >&2
        tries=$((tries + 1))
        grep -Eq 'Could not get lock|Unable to (acquire|lock)' "$errors" && [ $tries -lt 120 ] || return 1
        echo "waiting: another program is installing packages, and holds the lock of apt"
        sleep 8 # longer than the pause between the lines of `watched`
    done
    rm -f "$errors"
}

# Pairs of program:package. Only programs in /usr count, because sandboxes contain nothing else.
wanted="bwrap:bubblewrap gcc:gcc g++:g++ javac:default-jdk-headless sbcl:sbcl make:make"
case "${1:-.}" in *test*) wanted="$wanted ecl:ecl clisp:clisp chromium:chromium chromedriver:chromium-driver npm:npm" ;; esac
case "${1:-.}" in *toolchains*) wanted="$wanted ruby:ruby php:php-cli lua:lua5.4 rustc:rustc cargo:cargo go:golang-go ghc:ghc" ;; esac
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
    say "Python 3.11 or newer is not here yet; installing it (Debian 12 and Ubuntu 24.04 have it as the package python3)"
    case " $packages " in *" python3 "*) ;; *) packages="$packages python3" ;; esac
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
    if [ -n "$root" ] && ! command -v sudo >/dev/null; then
        say "these packages are missing, and there is no sudo; as root:  apt-get install$packages"
        exit 1
    fi
    say "installing$packages (a few minutes)"
    watched patient_apt_get update
    case "$packages" in *chromium*)
        if ! apt-get --simulate install chromium chromium-driver >/dev/null 2>&1; then
            say "this system has Chromium at most as a snap: the tests in a browser are skipped"
            packages=$(echo "$packages" | sed 's/ chromium[-a-z]*//g')
        fi ;;
    esac
    # shellcheck disable=SC2086 # a list of words
    watched patient_apt_get install -y --no-install-recommends $packages
fi

# Ubuntu 24.04 and later give a program no rights in a user namespace unless AppArmor has a profile of it. bubblewrap needs them.
if [ "$(cat /proc/sys/kernel/apparmor_restrict_unprivileged_userns 2>/dev/null)" = 1 ] &&
    bwrap --unshare-user --unshare-net --ro-bind / / true 2>&1 | grep -Eq 'uid map: Permission denied|RTM_NEWADDR'; then
    say "AppArmor forbids the sandbox: allowing user namespaces to bubblewrap alone, by /etc/apparmor.d/croupier-bwrap"
    say "  to take it away:  sudo sh -c 'cd /etc/apparmor.d && apparmor_parser -R croupier-bwrap && rm croupier-bwrap'"
    printf 'abi <abi/4.0>,\nprofile croupier-bwrap /usr/bin/bwrap flags=(unconfined) {\n  userns,\n}\n' |
        sudo tee /etc/apparmor.d/croupier-bwrap | sudo apparmor_parser -r ||
        say "that did not work; croupier doctor says more"
fi

if [ ! -x .venv/bin/python ]; then
    say "creating a virtual environment in .venv"
    watched "$python" -m venv .venv
fi
stamp=.venv/installed-$(printf %s "${1:-.}" | tr -c 'a-z\n' _)
if [ ! -e "$stamp" ] || [ pyproject.toml -nt "$stamp" ]; then
    say "installing croupier and its Python packages into .venv (a minute or two)"
    watched .venv/bin/python -m pip install --disable-pip-version-check --progress-bar off -e "${1:-.}"
    touch "$stamp"
fi
