"""A thousand hostile uploads: nothing is left behind, nothing stops, and each is refused by name."""

import hashlib
import io
import json
import socket
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

import psutil
import pytest

pytest.importorskip("hypercorn")
pytest.importorskip("multipart")

from season_client import Site, multipart, serving_season
from season_published import ladder, plain, publish, publish_links, season_in

from host.season.entries.inbox import UPLOAD_FILE

UPLOADS, CRAWLERS = 1000, 8
LIMIT = 200_000
AUTHORS = [f"author{nth}" for nth in range(50)]
CLOSED = (0, "closed")  # what a client sees that has not sent a whole request


class Attack(NamedTuple):
    """Bytes to send, whether the connection is closed after them, and what may come back."""

    sent: bytes
    closes: bool
    allowed: frozenset[tuple[int, str]]


def request(method: str, path: str, body: bytes, author: str, **headers: str) -> bytes:
    """Return a request; headers may replace the usual ones."""
    usual = {"host": "127.0.0.1", "connection": "close", "content-length": str(len(body))}
    named = (
        usual | {"authorization": f"Bearer secret of {author}"} | {k.replace("_", "-"): v for k, v in headers.items()}
    )
    lines = "".join(f"{key}: {value}\r\n" for key, value in named.items() if value)
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode(errors="surrogateescape") + body


def bomb() -> bytes:
    """Return a zip file that unpacks to a thousand times its size. The site does not look into it."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(20_000_000))
    return made.getvalue()


BOMB = bomb()


def may(*allowed: tuple[int, str]) -> frozenset[tuple[int, str]]:
    """Return what may come back."""
    return frozenset(allowed)


def zip_bomb(luck: Random, author: str) -> Attack:
    """A zip bomb is passed on untouched: the season unpacks it within its limits."""
    content = BOMB + luck.randbytes(8)
    return Attack(request("PUT", f"/api/bots/bomb{luck.randrange(10**9)}", content, author), False, may((202, "")))


def half_a_request(luck: Random, author: str) -> Attack:
    """The connection ends in the middle."""
    whole = request("PUT", "/api/bots/half", luck.randbytes(50_000), author)
    return Attack(whole[: luck.randrange(1, len(whole) - 1)], True, may(CLOSED, (400, "W006"), (400, "none")))


def longer_than_it_says(luck: Random, author: str) -> Attack:
    """More bytes than Content-Length says. They are the next request, and are nonsense."""
    body = luck.randbytes(500)
    sent = request(
        "PUT", f"/api/bots/long{luck.randrange(10**9)}", body, author, connection="keep-alive"
    ) + luck.randbytes(300)
    return Attack(sent, False, may((202, ""), (400, "none")))


def above_the_limit(luck: Random, author: str) -> Attack:
    """A file above the limit, in chunks, so that nothing says how long it is."""
    chunk = luck.randbytes(60_000)
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for _ in range(5)) + b"0\r\n\r\n"
    sent = request("PUT", "/api/bots/large", body, author, content_length="", transfer_encoding="chunked")
    return Attack(sent, False, may((413, "W005")))


def announced_above_the_limit(luck: Random, author: str) -> Attack:
    """A length that nobody can send."""
    sent = request("PUT", "/api/bots/large", b"x", author, content_length=str(luck.choice([10**6, 10**15, 10**30])))
    return Attack(sent, True, may(CLOSED, (413, "W005"), (400, "W006"), (400, "none")))


def nonsense_as_length(luck: Random, author: str) -> Attack:
    """A length that is not a number, or two that differ."""
    length = luck.choice(["-1", "1e3", "0x10", "5, 6", "٣", ""])
    sent = request("PUT", "/api/bots/odd", b"12345", author, content_length=length or "5\r\ncontent-length: 6")
    return Attack(sent, True, may(CLOSED, (400, "none"), (400, "W006"), (202, "")))


def forged_form(luck: Random, author: str) -> Attack:
    """A form with the cookie of its author and without the token that belongs to it."""
    token = luck.choice(["", "0" * 64, hashlib.sha256(author.encode()).hexdigest(), "é"])
    kind, body = multipart({"token": token}, "mine.py", luck.randbytes(900))
    cookie = f"season_author=secret of {author}"
    sent = request("POST", "/submit", body, author, content_type=kind, cookie=cookie)
    return Attack(sent, False, may((403, "W004")))


def replayed_link(luck: Random, author: str) -> Attack:
    """A link that was replaced, or never was."""
    secret = luck.choice(
        [f"secret%20of%20{author}x", hashlib.sha256(f"secret of {author}".encode()).hexdigest(), "a" * 4000]
    )
    kind, body = multipart({}, "mine.py", luck.randbytes(900))
    return Attack(request("POST", f"/a/{secret}", body, author, content_type=kind), False, may((401, "W002")))


def odd_name(luck: Random, author: str) -> Attack:
    """A name of a file, or of a bot, that is a path, an option, a formula or a script."""
    names = [
        "../../x.py",
        "..\\x.py",
        ".ssh",
        "-rf.py",
        "\u202ey.py",
        "<script>.py/",
        "x" * 300,
        "\t=1+1",
        "a\x00b",
        " ",
    ]
    kind, body = multipart({}, luck.choice(names), luck.randbytes(900))
    if luck.random() < 0.5:
        kind, body = multipart({"bot": luck.choice(["../x", "<b>", "=1+1", "\u202e", "x" * 99, "-"])}, "a.py", b"x")
    return Attack(
        request("POST", "/api/bots", body, author, content_type=kind), False, may((400, "E002"), (400, "W008"))
    )


def broken_form(luck: Random, author: str) -> Attack:
    """A form that breaks a rule of forms."""
    kind, body = multipart({"bot": "mine"}, "mine.py", luck.randbytes(900))
    boundary = kind.partition("=")[2].encode()
    part = b'--%b\r\nContent-Disposition: form-data; name="%%b"; filename="b.py"\r\n\r\nx\r\n' % boundary
    broken = luck.choice([
        body[:-20],
        body.replace(b"\r\n", b"\n"),
        body.replace(b'name="file"', b'name="other"'),
        body.replace(b"form-data", b"form-data" + b"x" * 9000),
        part % b"file" + body,
        b"".join(part % b"file" for _ in range(40)) + body,
        b"".join(b'--%b\r\nContent-Disposition: form-data; name="f%d"\r\n\r\nx\r\n' % (boundary, n) for n in range(500)) + body,
        b'--%b\r\nContent-Disposition: form-data; name="bot"\r\n\r\n' % boundary + b"y" * 90_000 + b"\r\n" + body,
        b"--" + boundary + b"--\r\n",
        b"",
        luck.randbytes(2000),
    ])  # fmt: skip
    kinds = [kind, kind, kind, "multipart/form-data", "multipart/form-data; boundary=", "text/plain", ""]
    sent = request("POST", "/api/bots", broken, author, content_type=luck.choice(kinds))
    return Attack(sent, False, may((400, "W008"), (413, "W008"), (415, "W008"), (400, "E002")))


def nonsense(luck: Random, author: str) -> Attack:
    """Bytes that are no request, or a head without an end."""
    sent = luck.choice([luck.randbytes(400), b"GET /\r\n\r\n", b"PUT /api/bots/x HTTP/1.1\r\n" + b"a: b\r\n" * 9000])
    return Attack(sent, True, may(CLOSED, (400, "none"), (431, "none"), (505, "none")))


ATTACKS: tuple[Callable[[Random, str], Attack], ...] = (
    zip_bomb, half_a_request, longer_than_it_says, above_the_limit, announced_above_the_limit, nonsense_as_length,
    forged_form, replayed_link, odd_name, broken_form, nonsense,
)  # fmt: skip


def answered(site: Site, attack: Attack) -> tuple[int, str]:
    """Send an attack; return status and code of the answer."""
    with socket.create_connection(("127.0.0.1", site.port), timeout=60) as line:
        received = b""
        try:
            line.sendall(attack.sent)
            if attack.closes:
                line.shutdown(socket.SHUT_WR)
            while chunk := line.recv(65536):
                received += chunk
                head, _, body = received.partition(b"\r\n\r\n")
                if b'"schema"' in body and body.rstrip().endswith(b"}"):
                    break
        except (ConnectionResetError, BrokenPipeError):
            pass
    if not received.startswith(b"HTTP/1.1 "):
        return CLOSED
    head, _, body = received.partition(b"\r\n\r\n")
    status, start = int(head[9:12]), body.find(b"{")
    if status < 300:
        return status, ""
    try:
        return status, json.loads(body[start:])["code"]
    except ValueError:
        return status, "none"  # of Hypercorn, which has found no request in it


@pytest.fixture
def besieged(tmp_path: Path) -> Iterator[Site]:
    """Serve a season of many authors with small files."""
    folder = season_in(tmp_path, upload_bytes=LIMIT)
    hashes = {name: hashlib.sha256(f"secret of {name}".encode()).hexdigest() for name in [*AUTHORS, "honest"]}
    publish_links(folder, hashes)
    with serving_season(folder) as running:
        yield running


def honest(site: Site, nth: int) -> int:
    """Hand in a bot as an honest author does; return the status."""
    reply = site.send("PUT", f"/api/bots/honest{nth}", b"print()" * nth, authorization="Bearer secret of honest")
    return reply.status


def take(site: Site, stop: threading.Event, taken: Counter[str]) -> None:
    """Take requests from the inbox as the season does; count the bytes of each file."""
    while True:
        ending = stop.is_set()
        for path in sorted((site.folder / "inbox").iterdir()):
            if not path.name.startswith("."):
                content = (path / UPLOAD_FILE).read_bytes()
                taken[
                    "bomb" if content.startswith(BOMB[:64]) else "honest" if content.startswith(b"print()") else "other"
                ] += 1
                assert len(content) <= LIMIT
                for file in path.iterdir():
                    file.unlink()
                path.rmdir()
        if ending:
            return
        time.sleep(0.02)


@pytest.mark.long
def test_a_thousand_hostile_uploads_leave_nothing_and_stop_nobody(besieged: Site) -> None:
    stop, taken = threading.Event(), Counter[str]()
    season = threading.Thread(target=take, args=(besieged, stop, taken))
    season.start()

    def attacked(nth: int) -> tuple[str, tuple[int, str], bool]:
        luck = Random(f"upload {nth}")
        make = ATTACKS[nth % len(ATTACKS)]
        attack = make(luck, AUTHORS[nth % len(AUTHORS)])
        answer = answered(besieged, attack)
        if nth % 100 == 50:
            assert honest(besieged, nth) == 202
        return make.__name__, answer, answer in attack.allowed

    try:
        with ThreadPoolExecutor(CRAWLERS) as pool:
            results = list(pool.map(attacked, range(UPLOADS)))
        assert honest(besieged, 1) == 202
    finally:
        stop.set()
        season.join()
    assert Counter(result[:2] for result in results if not result[2]) == {}
    bombs = sum(result == ("zip_bomb", (202, ""), True) for result in results)
    assert taken["bomb"] == bombs > 80 and taken["honest"] == UPLOADS // 100 + 1
    until = time.monotonic() + 120
    while besieged.left_behind() and time.monotonic() < until:
        time.sleep(0.1)
    assert besieged.left_behind() == []


@pytest.mark.long
@pytest.mark.parametrize("form", [False, True], ids=["body", "form"])
@pytest.mark.one_in(2)
def test_a_body_that_does_not_go_on_is_refused_in_time_and_stops_nobody(besieged: Site, form: bool) -> None:
    kind, body = multipart({}, "slow.py", bytes(5000))
    path = "/api/bots" if form else "/api/bots/slow"
    sent = request("POST" if form else "PUT", path, body, AUTHORS[0], **({"content_type": kind} if form else {}))
    with socket.create_connection(("127.0.0.1", besieged.port), timeout=60) as line:
        line.sendall(sent[:-2000])
        began = time.monotonic()
        assert honest(besieged, 1) == 202
        reply = b""
        while b'"W006"' not in reply and (piece := line.recv(65536)):
            reply += piece
        assert b" 408 " in reply.partition(b"\r\n")[0] and b'"W006"' in reply
        assert time.monotonic() - began > 8
    assert besieged.left_behind() == []


@pytest.mark.long
def test_headers_that_do_not_end_are_given_up(besieged: Site) -> None:
    with socket.create_connection(("127.0.0.1", besieged.port), timeout=60) as line:
        line.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ")
        for _second in range(60):
            try:
                line.sendall(b"x")
                line.settimeout(1)
                if line.recv(100) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            raise AssertionError("the site still waits")


@pytest.mark.long
def test_readers_that_stop_reading_are_dropped(besieged: Site) -> None:
    publish(besieged.folder, ladder(plain, 300))  # a page of 200 kB
    assert besieged.get("/").status == 200
    deaf = [socket.socket() for _ in range(5)]
    for line in deaf:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        line.connect(("127.0.0.1", besieged.port))
        line.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 40)
    ports = {line.getsockname()[1] for line in deaf}

    def connected() -> int:
        lines = psutil.Process(besieged.process.pid).net_connections("tcp4")
        return sum(bool(line.raddr) and line.raddr.port in ports for line in lines)

    assert besieged.get("/").status == 200
    assert connected() == 5
    until = time.monotonic() + 120
    while connected():
        assert time.monotonic() < until, "the connections of readers that stopped are still open"
        time.sleep(0.5)
    for line in deaf:
        line.close()
