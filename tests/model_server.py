"""A server in the format of chat completions, for tests and for the example of docs/models.md.

`python tests/model_server.py 8080 [STEP…] [--say MOVE]` listens on that port of this machine. It answers the first requests as
the steps say, and all others with END or the move. A step is a status (`429`, `503`), `cut` (half an answer), `slow` (an answer
after a second), `retry` (429 with `retry-after: 1`), `hold` (an answer when a test sets `released`), `echo` (the key instead of
HTTP), or `meet` (an answer when as many requests wait for one as `meeting` says: four).
"""

import argparse
import json
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Barrier, BrokenBarrierError, Event, Thread
from typing import Any

PROMPT_TOKENS, COMPLETION_TOKENS = 30, 10  # of each answer
TOKENS = PROMPT_TOKENS + COMPLETION_TOKENS
USAGE = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS, "total_tokens": TOKENS}


class ModelServer(ThreadingHTTPServer):
    """A server that answers by its script. `heard` are the requests: path, headers, JSON."""

    daemon_threads = True

    def __init__(self, where: int | str = 0, steps: Sequence[str] = ()) -> None:
        """Listen on a port of this machine, or at the path of a Unix socket."""
        self.address_family = socket.AF_UNIX if isinstance(where, str) else socket.AF_INET
        super().__init__(where if isinstance(where, str) else ("127.0.0.1", where), Handler)  # type: ignore[arg-type]
        self.steps, self.heard, self.said = list(steps), list[tuple[str, dict[str, str], Any]](), "END"
        self.usage: Any = USAGE  # None: answers without it
        self.meeting, self.released = Barrier(4), Event()

    def server_bind(self) -> None:
        TCPServer.server_bind(self)  # the other looks for a name of the machine

    @property
    def address(self) -> str:
        """Return the address for croupier.toml."""
        if isinstance(self.server_address, str):
            return f"unix:{self.server_address}"
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: ModelServer
    wbufsize = -1  # an answer is one write

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.heard.append(
            (self.path, {name.lower(): text for name, text in self.headers.items()}, json.loads(body))
        )
        step = self.server.steps.pop(0) if self.server.steps else "200"
        if step == "echo":
            self.wfile.write(self.headers["Authorization"].encode() + b"\r\n\r\n")
            return
        if step == "meet":
            with suppress(BrokenBarrierError):
                self.server.meeting.wait(300)
        if step == "hold":
            self.server.released.wait()
        if step == "slow":
            for _ in range(10):
                time.sleep(0.1)
        answer = {"choices": [{"message": {"role": "assistant", "content": self.server.said}}]}
        usage = {} if self.server.usage is None else {"usage": self.server.usage}
        reply = json.dumps(answer | usage).encode()
        self.send_response(int(step) if step.isdigit() else 429 if step == "retry" else 200)
        if step == "retry":
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply[: len(reply) // 2] if step == "cut" else reply)

    def log_message(self, *_words: object) -> None:
        """Write nothing."""


@contextmanager
def serving(*steps: str, where: int | str = 0) -> Iterator[ModelServer]:
    """Run a server for the length of the block."""
    with ModelServer(where, steps) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("steps", nargs="*")
    parser.add_argument("--say", default="END")
    words = parser.parse_args()
    server = ModelServer(words.port, words.steps)
    server.said = words.say
    server.serve_forever()
