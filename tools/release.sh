#!/bin/sh
# Build what a release consists of: an sdist, a wheel for each machine, and their hashes. Argument: the folder, default dist.
# Needs `pip install build wheel auditwheel`, and a C compiler for each machine (gcc; gcc-aarch64-linux-gnu libc6-dev-arm64-cross).
set -eu
cd "$(dirname "$0")/.."
folder=${1:-dist} python=${PYTHON:-python3}
rm -rf "$folder"
"$python" -m build --sdist --outdir "$folder" .
for machine in ${MACHINES:-x86_64 aarch64}; do
    CC=$machine-linux-gnu-gcc "$python" -m pip wheel --no-deps --wheel-dir "$folder" "$folder"/croupier-*.tar.gz
    built=$(echo "$folder"/croupier-*-linux_"$machine".whl)
    # The keeper is static, so the wheel needs no C library at all. auditwheel confirms that.
    "$python" -m auditwheel show "$built" | grep -Eq "manylinux_2_(5|17)_$machine"
    "$python" -m wheel tags --remove --platform-tag "manylinux_2_17_$machine" "$built"
done
(cd "$folder" && sha256sum croupier-* >SHA256SUMS && cat SHA256SUMS)
