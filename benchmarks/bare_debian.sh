#!/usr/bin/env bash
# Try `make demo` and `make test` in a bare Debian, as an ordinary user with sudo and a hard core limit of 0. Run as root.
#
#   benchmarks/bare_debian.sh [--chroot] [TARGET…]     (default: demo test)
#
# The system is debootstrap's minimal one with make and sudo. It is entered by pivot_root in a new mount and PID namespace,
# as containers are; with --chroot by chroot, where the kernel forbids user namespaces, so that croupier must say so. Every
# line is printed with the seconds since the start, and at the end the longest silence. PYTEST_ADDOPTS is passed on.
# KEEP=DIR keeps the system there for the next trial.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "bare_debian: needs root, to make a Debian" >&2; exit 1; }
enter=pivot
[ "${1:-}" != --chroot ] || { enter=chroot; shift; }
[ $# -gt 0 ] || set -- demo test

system=${KEEP:-$(mktemp -d)/debian}
[ -n "${KEEP:-}" ] || trap 'rm -rf --one-file-system "$(dirname "$system")"' EXIT
if [ ! -e "$system/usr/bin/sudo" ]; then
    echo "bare_debian: making a Debian in $system"
    tests/docker/base-image.sh "rootfs:$system:make,sudo"
    cp -L /etc/resolv.conf "$system/etc/resolv.conf"
    echo "127.0.0.1 localhost" >"$system/etc/hosts"  # every machine has it, and browsers need it
    rm -f "$system/etc/dpkg/dpkg.cfg.d/01-slim" # pages of the manual may be installed
    chroot "$system" useradd --create-home --shell /bin/bash ada
    echo 'ada ALL=(ALL) NOPASSWD: ALL' >"$system/etc/sudoers.d/ada"
fi
rm -rf "$system/home/ada/croupier"
mkdir "$system/home/ada/croupier"
tar -c --exclude=./.venv --exclude=./demo . | tar -x -C "$system/home/ada/croupier"
chroot "$system" chown -R ada:ada /home/ada/croupier

inside='ulimit -Hc 0; cd ~/croupier && id && ulimit -Hc && exec make "$@"'
as_ada=(setpriv --reuid 1000 --regid 1000 --init-groups env -i HOME=/home/ada USER=ada LANG=C.UTF-8 TERM=dumb
    PATH=/usr/local/bin:/usr/bin:/bin PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-}" bash -c "$inside" make)
try() {
    unshare --mount --pid --fork bash -euc '
        system=$1 enter=$2; shift 2
        mount --make-rprivate / && mount --bind "$system" "$system" && cd "$system"
        mount -t proc proc proc && mount --rbind /dev dev && mount --rbind /sys sys && mount -t tmpfs tmpfs tmp -o mode=1777
        [ $enter = pivot ] || exec chroot . "$@"
        mkdir -p .old && pivot_root . .old && umount -l /.old && rmdir /.old && exec "$@"
    ' try "$system" $enter "${as_ada[@]}" "$@"
}
# Print each line with its time, and the longest silence.
stamped() {
    python3 -u -c '
import sys, time
began = last = time.monotonic(); longest = (0.0, "", "")
before = "the start"
for line in sys.stdin:
    now = time.monotonic()
    longest = max(longest, (now - last, before, line.strip()[:60]))
    print(f"{now - began:6.1f}  {line}", end="", flush=True)
    last, before = now, line.strip()[:60]
print(f"bare_debian: {last - began:.0f} s; longest silence {longest[0]:.1f} s, between {longest[1]!r} and {longest[2]!r}")'
}
for target; do
    echo "bare_debian: make $target"
    code=0
    try "$target" 2>&1 | stamped || code=$?
    echo "bare_debian: make $target ended with $code"
done
