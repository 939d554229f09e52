"""Requests of the API of a season with nasty bodies: an answer with 2xx or 4xx, and never 500.

An author may leave 20 requests that nobody has read, so every few requests are of another author: each reaches its handler.
"""

import hashlib
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hypercorn")
pytest.importorskip("multipart")

from season_client import Site, serving_season
from season_published import SECRETS, bot, plain, publish, publish_links, season_in
from test_nasty_values import NASTY

from host.season.site.inbox import MAX_PENDING_OF_AN_AUTHOR

PUTS = ("/api/bots/{}", "/api/bots/mine?file={}", "/api/bots/mine?door={}")
GETS = (
    "/api/bots/{}",
    "/api/submissions/{}",
    "/api/submissions/mine-1?wait={}",
    "/api/requests/{}",
    "/api/mine/tables/{}",
)
POSTS: dict[str, dict[str, Any]] = {
    "/api/join": {"name": "eve"},
    "/api/versions/{own}-1/practice": {"opponents": ["davey"], "tables": 100},
    "/api/versions/{own}-1/activate": {},
    "/api/versions/{own}-1/deactivate": {},
    "/api/versions/{}/activate": {},
    "/api/submissions/{}/cancel": {},
    "/api/admin/pause": {"subject": "ada", "reason": "because"},
    "/api/admin/{}": {"subject": "mine-3", "reason": "because"},
    "/api/admin/withdraw": {"subject": "mine-3", "reason": "because"},
}
BODIES = [
    *(
        b"",
        b"null",
        b"[]",
        b"0",
        b'"x"',
        b"\xff",
        b"\xef\xbb\xbf{}",
        b"{",
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b"1e999",
        b"NaN",
    ),
    *(b'{"name":"\\ud800"}', b'{"name":"a","name":"b"}', b'{"tables":1e999}', b'{"tables":' + b"9" * 5000 + b"}"),
    *(b'{"tables":-1}', b'{"tables":99999999999}', b'{"opponents":[[]]}', b'{"name":"' + b"x" * 50_000 + b'"}'),
]


AUTHORS = [f"author{nth}" for nth in range(60)]
"""Each has one bot, whose name is the author's with `bot-` before it. Their secrets are their names."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve a season, which nobody runs: requests stay in its inbox."""
    folder = season_in(tmp_path_factory.mktemp("nasty"), submissions="anybody")
    publish(folder, *(bot(plain, f"bot-{author}", author, 1) for author in AUTHORS))
    publish_links(folder, {author: hashlib.sha256(author.encode()).hexdigest() for author in AUTHORS})
    with serving_season(folder) as running:
        yield running


@pytest.fixture(scope="module")
def authors() -> Iterator[str]:
    """Yield authors, each as often as requests of one may wait."""
    return (AUTHORS[nth // MAX_PENDING_OF_AN_AUTHOR] for nth in count())


def bodies(usual: dict[str, Any]) -> Iterator[bytes]:
    """Yield nasty bodies, and the usual one with nasty values."""
    yield from BODIES
    for key, value in usual.items():
        for nasty in NASTY:
            yield json.dumps(usual | {key: [nasty] if isinstance(value, list) else nasty}).encode()


def checked(site: Site, method: str, path: str, author: str, body: bytes = b"") -> int:
    """Send a request, which is not answered with a failure of the site; return the status."""
    reply = site.send(method, path, body, authorization=f"Bearer {SECRETS.get(author, author)}")
    assert 200 <= reply.status < 500, (method, path, body[:100], reply)
    return reply.status


def in_address(text: str) -> str:
    """Return a text as a part of an address, with every byte escaped."""
    return "".join(f"%{byte:02X}" for byte in text.encode()[:2000])


@pytest.mark.long
@pytest.mark.parametrize("path", POSTS)
def test_a_nasty_body_is_refused_or_received(path: str, site: Site, authors: Iterator[str]) -> None:
    statuses = set()
    for body in bodies(POSTS[path]):
        author = "" if "admin" in path else next(authors)
        statuses.add(checked(site, "POST", path.replace("{own}", f"bot-{author}").replace("{}", "x"), author, body))
    if "{}" in path:
        for text in NASTY:
            statuses.add(
                checked(site, "POST", path.replace("{}", in_address(text)), "" if "admin" in path else "ada", b"{}")
            )
    assert 429 not in statuses
    assert 202 in statuses or "{own}" not in path


@pytest.mark.long
def test_a_nasty_address_is_refused_or_received(site: Site) -> None:
    for text in NASTY:
        for path in PUTS:
            checked(site, "PUT", path.format(in_address(text)), "grace", b"print('END')")
        for path in GETS:
            checked(site, "GET", path.format(in_address(text)), "ada")
        checked(site, "GET", f"/{in_address(text)}", "ada")


@pytest.mark.long
def test_nothing_of_that_has_ended_the_site(site: Site) -> None:
    assert site.get("/api/season").status == 200
    assert all(Path(site.folder, "inbox").iterdir())
