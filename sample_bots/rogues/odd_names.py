# Makes files whose names have line ends, escape codes, dashes and no encoding. Verdict: harmless.
import os

left = os.listdir(b"/tmp")
for name in (b"-rf", b"a\nb", b"\xff\xfe", b"\x1b[2J", b"$(reboot)", b" ", b"..."):
    os.mkdir(b"/tmp/" + name)
    os.close(os.open(b"/tmp/" + name + b"/" + name, os.O_CREAT, 0))
print("B 666" if left else "S")
