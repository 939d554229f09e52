"""Starts the site of a season as a process of its own, and speaks HTTP to it."""

import contextlib
import http.client
import json
import re
import secrets
import signal
import subprocess
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from command import CROUPIER, environment
from season_published import SECRETS

from host.season.entries.inbox import REQUEST_FILE, Request

START_TIMEOUT_S, STOP_TIMEOUT_S = 60, 30


class Reply(NamedTuple):
    """Status, headers and body of an answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def problem(self) -> tuple[int, str]:
        """Status and code of an error."""
        return self.status, self.json["code"]


class Site:
    """A running site."""

    def __init__(self, folder: Path, port: int, process: "subprocess.Popen[str]") -> None:
        self.folder, self.port, self.process = folder, port, process
        self.url = f"http://127.0.0.1:{port}"

    def send(self, method: str, path: str, body: bytes = b"", timeout: float = 60, **headers: str) -> Reply:
        """Send a request exactly as given; underscores in the names of headers stand for dashes."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with contextlib.closing(line):
            named = {key.replace("_", "-"): value for key, value in headers.items()}
            line.request(method, path, body or None, {"connection": "close"} | named)
            answer = line.getresponse()
            received = {key.lower(): value for key, value in answer.getheaders()}
            cookies = answer.headers.get_all("set-cookie")
            return Reply(
                answer.status, received | ({"set-cookie": "\n".join(cookies)} if cookies else {}), answer.read()
            )

    def get(self, path: str, **headers: str) -> Reply:
        """Get an address as a program does."""
        return self.send("GET", path, **headers)

    def api(self, method: str, path: str, author: str, body: bytes = b"", **headers: str) -> Reply:
        """Send a request of the API with the secret of an author, or of the organiser ("")."""
        return self.send(method, path, body, authorization=f"Bearer {SECRETS[author]}", **headers)

    def inbox(self) -> list[Any]:
        """Return the requests in the inbox, oldest first."""
        found = sorted(path for path in (self.folder / "inbox").iterdir() if not path.name.startswith("."))
        return [msgspec.json.decode((path / REQUEST_FILE).read_bytes(), type=Request) for path in found]

    def left_behind(self) -> list[str]:
        """Return the names of unfinished files and folders in the inbox."""
        return [path.name for path in (self.folder / "inbox").iterdir() if path.name.startswith(".")]


class Browser:
    """A browser without script: it keeps cookies and fills in forms."""

    def __init__(self, site: Site, author: str | None = None) -> None:
        self.site, self.cookies = site, dict[str, str]()
        if author is not None:
            assert self.get(f"/{'a' if author else 'o'}/{SECRETS[author]}").status == 303

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> Reply:
        """Send a request with the cookies, and take new ones."""
        if self.cookies:
            headers["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        reply = self.site.send(method, path, body, **({"accept": "text/html"} | headers))
        for name, value, rest in re.findall(r"(season_\w+)=([^;\n]*)(.*)", reply.headers.get("set-cookie", "")):
            self.cookies[name] = "" if "Max-Age=0" in rest else value
        return reply

    def get(self, path: str, **headers: str) -> Reply:
        """Open a page."""
        return self.send("GET", path, **headers)

    def token(self, page: str) -> str:
        """Return the token of the forms on a page."""
        found = re.search(r'name="token" value="([0-9a-f]+)"', self.get(page).text)
        assert found, f"{page} has no form"
        return found[1]

    def post(self, path: str, page: str, **fields: str) -> Reply:
        """Send a form of a page."""
        body = urlencode({"token": self.token(page)} | fields).encode()
        return self.send("POST", path, body, content_type="application/x-www-form-urlencoded")

    def submit(self, name: str, content: bytes, **fields: str) -> Reply:
        """Send a file with the form."""
        kind, body = multipart({"token": self.token("/submit")} | fields, name, content)
        return self.send("POST", "/submit", body, content_type=kind)


def multipart(fields: Mapping[str, str], file_name: str, content: bytes) -> tuple[str, bytes]:
    """Return content type and body of a form with a file."""
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{file_name}"\r\n'
    parts += [f"{head}Content-Type: application/octet-stream\r\n\r\n".encode(), content, b"\r\n"]
    return f"multipart/form-data; boundary={boundary}", b"".join([*parts, f"--{boundary}--\r\n".encode()])


def links(page: str) -> set[str]:
    """Return the addresses of this site that a page leads to."""
    return {unescape(found).partition("#")[0] for found in re.findall(r'(?:href|src|action)="(/[^"]*)"', page)}


@contextlib.contextmanager
def serving_season(folder: Path, *options: str, bind: str = "127.0.0.1:0") -> Iterator[Site]:
    """Start `croupier season site` in a folder; stop it in good order, and check that it has printed no traceback."""
    command = [*CROUPIER, "-C", str(folder), "--json", "season", "site", "--bind", bind, *options]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment(), **pipes) as process:
        assert process.stdout and process.stderr
        first = process.stdout.readline()
        assert first, process.stderr.read()
        try:
            yield Site(folder, int(json.loads(first)["bind"].rpartition(":")[2]), process)
        finally:
            process.send_signal(signal.SIGTERM)
            code, said = process.wait(STOP_TIMEOUT_S), process.stderr.read()
            assert (code, said) == (0, ""), f"ended with {code}: {said}"
