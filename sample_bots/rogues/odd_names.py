# Creates files whose names have line ends, escape codes, dashes and invalid UTF-8. Verdict: harmless.
import contextlib
import os

tmp = os.environb.get(b"TMPDIR", b"/tmp")
left = os.listdir(tmp)
for name in (b"-rf", b"a\nb", b"\xff\xfe", b"\x1b[2J", b"$(reboot)", b" ", b"..."):
    with contextlib.suppress(PermissionError):  # without namespaces nothing can be written
        os.mkdir(tmp + b"/" + name)
        os.close(os.open(tmp + b"/" + name + b"/" + name, os.O_CREAT, 0))
print("B 666" if left else "S")
