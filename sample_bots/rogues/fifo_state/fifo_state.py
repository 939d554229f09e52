# Replaces its state file with a FIFO, a link or another file. Verdict: harmless, it cannot be replaced.
import os

done = []
for attempt in (
    lambda: os.unlink("memory"),
    lambda: os.rename("memory", "other"),
    lambda: os.mkfifo("memory.new"),
    lambda: os.symlink("/etc/shadow", "link"),
    lambda: os.rename("/tmp/fifo", "memory"),
):
    try:
        os.path.exists("/tmp/fifo") or os.mkfifo("/tmp/fifo")
        attempt()
        done.append(attempt)
    except OSError:
        pass
print("B 666" if done else "S")
