"""The first worker of a command: `python -m host.backends.first_worker LOG` tests what this machine can do, and then plays.

Its first line of output is what `detect` returns, as JSON, or empty if that fails: then its command tests the machine, and
reports the failure. Its command imports its own modules meanwhile.
"""

import contextlib
import gc
import sys

import msgspec


def main() -> None:
    """Write what this machine can do, and become a worker."""
    gc.disable()  # what is imported is not garbage; to look at it takes 6 % of the start
    from host.sandbox.detect import detect

    found = b""
    with contextlib.suppress(OSError):  # no cache folder, for example
        found = msgspec.json.encode(detect())
    sys.stdout.buffer.write(found + b"\n")
    sys.stdout.buffer.flush()
    from host.play import worker  # only now: the line is needed first

    gc.enable()
    worker.main()


if __name__ == "__main__":
    main()
