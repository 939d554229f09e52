# Writes 4 MB into a state file limited to one, and extends it to a sparse terabyte. Verdict: harmless, it is truncated.
import os
import signal

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
state = os.open("memory", os.O_RDWR)
for attempt in (
    lambda: os.write(state, b"x" * 4_000_000),
    lambda: os.truncate("memory", 1 << 40),
    lambda: os.posix_fallocate(state, 0, 8_000_000),
    lambda: os.pwrite(state, b"x", 1 << 39),
):
    try:
        attempt()
    except OSError:
        pass
print("B 666" if os.fstat(state).st_size > 1 << 20 else "S")
