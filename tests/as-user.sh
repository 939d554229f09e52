#!/usr/bin/env bash
# Run the tests in which it matters who runs croupier, as an ordinary user: in a copy of this folder that belongs to a
# user without a name, without a shell's session and without groups. Everybody who is not root runs them directly.
# Arguments: other tests.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
user=1234
# The excluded tests take long, and are the same for every user.
default=(tests/*/test_{model_ports,levels,every_sandbox,check,intake,system_errors,run}.py -k 'not (B025 or B031 or one_worker or interrupted)')
others='not long and not proof and not toolchains'
[ "$(id -u)" = 0 ] || { [ $# -gt 0 ] || set -- "${default[@]}"; exec .venv/bin/python -m pytest "$@"; }

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/tree" "$place/home"
tar -c --exclude=./.venv --exclude=./.git --exclude=./demo . | tar -x -C "$place/tree"
packages=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
as_user() { setpriv --reuid $user --regid $user --clear-groups "$@"; }
if ! (chmod 755 "$place" && as_user test -r "$packages/trio/__init__.py"); then
    cp -r "$packages" "$place/packages" # below a folder that only root may enter
    packages=$place/packages
fi
chown -R $user:$user "$place"
for python in .venv/bin/python /usr/local/bin/python3 /usr/bin/python3 ""; do
    [ -n "$python" ] || { echo "as-user: no Python that an ordinary user may run has the packages of .venv" >&2; exit 1; }
    python=$(realpath -s "$python")
    (cd / && as_user env PYTHONPATH="$packages" "$python" -c 'import msgspec, pytest, trio') 2>/dev/null && break
done

run() {
    (cd "$place/tree" && as_user env -i HOME="$place/home" PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 \
        PYTEST_ADDOPTS="${PYTEST_ADDOPTS:-}" PYTHONPATH="$place/tree:$packages" PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest "$@")
}
echo "as-user: user $user, $python"
if [ $# -gt 0 ]; then
    run "$@"
    exit
fi
failed=0
run -n 3 --dist worksteal "${default[@]}" -m "$others and not timing" || failed=1
run "${default[@]}" -m "$others and timing" || failed=1
exit $failed
