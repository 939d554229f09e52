"""The site of a season: who sees what, what it takes in, what it refuses, and that it needs no script and no secret."""

import contextlib
import csv
import gzip
import hashlib
import io
import json
import os
import re
import resource
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

pytest.importorskip("hypercorn")
pytest.importorskip("multipart")

from command import croupier_process
from helpers import breadth, offenders
from season_client import Browser, Site, links, multipart, serving_season
from season_published import EVE, SECRETS, hostile, marker, own, plain, publish, publish_links, read, season_in, site
from starlette.requests import Request

from host.sandbox import landlock
from host.season.documents import PublishedAuthor
from host.season.entries.inbox import UPLOAD_FILE, Activate, Cancel, Join, Manage, Practise, Submit
from host.season.entries.queue import HOUR_S, Quota, Used
from host.season.entries.values import Answer, submission_id
from host.season.folder import SeasonFolder
from host.season.season_config import AuthorLimits
from host.season.site.identity import SiteOptions, client_of
from host.season.site.limits import LOCAL_REQUESTS, RateLimiter
from host.season.site_database import published

AUTHORS = ("ada", "grace", EVE)
PUBLIC = ("/", "/rounds", "/rounds/2", "/bots/mine", "/rules", "/submit")
API = ("/api/season", "/api/ladder", "/api/ladder.csv", "/api/rounds", "/api/rounds/2", "/api/bots/mine")
SOURCE = b"print('a bot')\n" * 40


@pytest.fixture(scope="module")
def hostile_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve a season in which every text of a stranger is hostile. Tests only read from it."""
    with serving_season(season_in(tmp_path_factory.mktemp("hostile"), hostile)) as running:
        yield running


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve a season in which no test changes anything."""
    with serving_season(season_in(tmp_path_factory.mktemp("unchanged"))) as made:
        yield made


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Site]:
    """Serve a season that a test may change."""
    with serving_season(season_in(tmp_path)) as made:
        yield made


# Reading.


@pytest.mark.parametrize("path", [*PUBLIC, *API, "/assets/season.js", "/assets/season.css", "/assets/style.css"])
def test_everybody_can_read_what_is_public(hostile_site: Site, path: str) -> None:
    assert hostile_site.get(path).status == 200


@pytest.mark.long
def test_the_site_needs_nothing_but_what_is_published(tmp_path: Path) -> None:
    folder = season_in(tmp_path)
    for secret in ("seed", "season.sqlite", "rounds", "store"):
        os.mkfifo(folder / secret)  # whoever opens it waits for ever
    with serving_season(folder) as running:
        browser = Browser(running, "ada")
        assert {path: browser.get(path).status for path in (*PUBLIC, *API, "/mine")} == dict.fromkeys(
            (*PUBLIC, *API, "/mine"), 200
        )
        assert browser.submit("mine.py", SOURCE).status == 303


@pytest.mark.long
@pytest.mark.parametrize("how", breadth(["missing", "cut", "of another kind", "a folder", "nonsense"], 5))
def test_a_database_that_cannot_be_read_is_a_message_and_never_a_failure(running: Site, how: str) -> None:
    ada, organiser = Browser(running, "ada"), Browser(running, "")
    path = running.folder / "published" / "site.sqlite"
    content = path.read_bytes()
    path.unlink()
    if how == "a folder":
        path.mkdir()
    elif how == "of another kind":
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.execute("CREATE TABLE document (name TEXT)")
    elif how != "missing":
        path.write_bytes(content[: len(content) // 2] if how == "cut" else b"nonsense" * 1000)
    for page in (*PUBLIC, "/mine", "/admin"):
        reply = (organiser if page == "/admin" else ada).get(page)
        assert reply.status == 503 and 'role="alert"' in reply.text, page
    assert {running.get(each).status for each in API} == {503}
    path.rmdir() if how == "a folder" else path.unlink(missing_ok=True)
    path.write_bytes(content)
    assert ada.get("/mine").status == 200


@pytest.mark.long
def test_the_site_reads_on_while_the_season_writes_and_where_it_may_write_nothing(running: Site) -> None:
    with published(SeasonFolder(running.folder)) as site_database, site_database.database.transaction():
        site_database.document("site", site(plain, 8, title="Half of it"))
        assert "Half of it" not in running.get("/").text
    assert "Half of it" in running.get("/").text


@pytest.mark.long
def test_what_was_read_last_is_shown_while_the_season_is_stopped_in_the_middle_of_writing(running: Site) -> None:
    before = running.get("/").text
    with contextlib.closing(sqlite3.connect(running.folder / "published" / "site.sqlite")) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        assert running.get("/").text == before and Browser(running, "ada").get("/").status == 200


@pytest.mark.long
def test_a_page_shows_at_once_what_is_published_anew(running: Site) -> None:
    publish(running.folder, site(plain, 8, title="Another game"))
    assert "Another game" in running.get("/").text


@pytest.mark.parametrize("path", ["/", "/rounds", "/api/ladder", "/assets/season.js"])
def test_what_has_not_changed_is_not_sent_again_and_all_is_compressed(hostile_site: Site, path: str) -> None:
    whole = hostile_site.get(path)
    assert hostile_site.get(path, if_none_match=whole.headers["etag"]).status == 304
    packed = hostile_site.get(path, accept_encoding="gzip")
    assert gzip.decompress(packed.body) == whole.body and len(packed.body) < len(whole.body)


def test_private_pages_are_neither_stored_nor_compressed(hostile_site: Site) -> None:
    reply = Browser(hostile_site, "ada").get("/mine", accept_encoding="gzip")
    assert "no-store" in reply.headers["cache-control"] and "content-encoding" not in reply.headers


@pytest.mark.parametrize("path", [*PUBLIC, "/mine", "/nothing", "/api/nothing", "/a/wrong", "/rounds/1/report"])
def test_no_answer_allows_a_script_that_is_not_ours(hostile_site: Site, path: str) -> None:
    reply = hostile_site.get(path)
    policy = reply.headers["content-security-policy"]
    assert "unsafe" not in policy and ("script-src 'self'" in policy or policy.startswith("sandbox"))
    assert reply.headers["referrer-policy"] == "no-referrer" and reply.headers["x-frame-options"] == "DENY"


def test_a_report_runs_as_another_site(hostile_site: Site) -> None:
    policy = hostile_site.get("/rounds/1/report").headers["content-security-policy"]
    assert "sandbox" in policy and "allow-same-origin" not in policy


# Every text of a stranger is escaped.


UNPRINTABLE = re.compile(r"[^\x20-\x7e\n\u00a0-\uffff]|[\u202a-\u202e\u2066-\u2069]")


class Markup(HTMLParser):
    """Collects what acts in a page: scripts, and attributes that a browser would run or load."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.acts = list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a tag."""
        given = dict(attrs)
        if tag in ("script", "link", "img", "iframe", "object", "base"):
            self.acts.append(f"{tag} {given.get('src') or str(given.get('href'))[:20]}")
        self.acts += [f"{tag} {name}" for name in given if name.startswith("on") or name == "style"]
        self.acts += [value for value in given.values() if value and value.strip().lower().startswith("javascript")]


OURS = {
    "script /assets/season.js",
    "link /assets/style.css",
    "link /assets/season.css",
    "link data:image/svg+xml,%",
}


def check_page(page: str) -> None:
    """Check that a page contains no markup, no script and no control character of a stranger."""
    assert set(Markup(page).acts) <= OURS
    assert not UNPRINTABLE.search(page), UNPRINTABLE.findall(page)[:3]


def crawled(browser: Browser, *more: str) -> dict[str, str]:
    """Follow all links from the pages that a visitor knows; return the pages."""
    found: dict[str, str] = {}
    open_links = {"/", "/rules", "/submit", "/mine", "/admin", *more}
    while open_links:
        path = open_links.pop()
        reply = browser.get(path)
        assert reply.status in (200, 303, 401, 403, 404, 405), path
        found[path] = reply.body.decode(errors="replace")
        if reply.headers.get("content-type", "").startswith("text/html") and "report" not in path:
            open_links |= {link for link in links(found[path]) if not link.startswith("/events")} - found.keys()
    return found


@pytest.mark.parametrize("author", [None, *AUTHORS, ""], ids=["nobody", "ada", "grace", "eve", "organiser"])
def test_on_no_page_does_a_text_of_a_stranger_act(hostile_site: Site, author: str | None) -> None:
    pages = crawled(Browser(hostile_site, author))
    html = {path: page for path, page in pages.items() if page.startswith("<!doctype") and "report" not in path}
    assert len(html) > 10 and any("window.evil" in page for page in html.values())
    assert not offenders(check_page, [(page,) for page in html.values()])


def test_no_cell_of_the_table_is_a_formula(hostile_site: Site) -> None:
    rows = list(csv.reader(io.StringIO(hostile_site.get("/api/ladder.csv").text)))
    assert len(rows) == 9 and all(len(row) == len(rows[0]) for row in rows)
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert not [cell for row in rows for cell in row if not cell.isprintable()]


@pytest.mark.parametrize("path", ["/mine", "/api/mine"])
def test_own_tables_are_stored_and_never_shown(hostile_site: Site, path: str) -> None:
    reply = (
        Browser(hostile_site, EVE).get("/mine/tables/1")
        if path == "/mine"
        else hostile_site.api("GET", "/api/mine/tables/1", EVE)
    )
    assert reply.json == {"own": marker(EVE)}
    assert reply.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in reply.headers["content-security-policy"]
    assert reply.headers["content-type"].startswith("application/x-ndjson")


# A crawler sees nothing of another author.


@pytest.mark.parametrize("author", [None, *AUTHORS], ids=["nobody", "ada", "grace", "eve"])
def test_a_crawler_finds_nothing_of_another_author(hostile_site: Site, author: str | None) -> None:
    others = [each for each in AUTHORS if each != author]
    named = ("ada", "grace", quote(EVE, safe=""))
    guesses = [
        f"/{where}/{name}{end}"
        for where in ("mine", "api/mine", "published/private/authors", "private/authors")
        for name in named
        for end in ("", ".json", "-3.ndjson")
    ]
    guesses += [
        f"{top}/submissions/{row.id}{end}"
        for other in others
        for row in own_rows(hostile_site.folder, other)
        for top in ("/mine", "/api")
        for end in ("", "/file", "/cancel")
    ]
    guesses += [f"/uploads/{row.sha256}" for other in others for row in own_rows(hostile_site.folder, other)]
    guesses += [
        "/inbox",
        "/seed",
        "/season.sqlite",
        "/mine/tables/2",
        "/mine/versions/davey-2",
        "/mine/versions/mine-2",
        "/mine/versions/evil-2",
    ]
    browser = Browser(hostile_site, author)
    pages = crawled(browser, *guesses)
    if author is not None:
        for path in (*guesses, "/api/mine", "/api/admin", "/api/requests/1"):
            pages[f"{path} by API"] = hostile_site.api("GET", path, author).body.decode(errors="replace")
    leaked = {path for path, page in pages.items() for other in others if marker(other) in page}
    secrets = {path for path, page in pages.items() if any(secret in page for secret in SECRETS.values())}
    assert (leaked, secrets) == (set(), set())
    assert author is None or any(marker(author) in page for page in pages.values())


def own_rows(folder: Path, author: str) -> Any:
    """Return the submissions of an author."""
    return read(folder).author(author).value.submissions


def test_what_an_author_reads_is_not_cached_for_the_next_reader(hostile_site: Site) -> None:
    Browser(hostile_site, "ada").get("/mine")
    assert marker("ada") not in Browser(hostile_site).get("/mine").text
    assert marker("ada") not in Browser(hostile_site, "grace").get("/mine").text


def test_only_the_organiser_sees_the_organisers_page(hostile_site: Site) -> None:
    seen = {author: Browser(hostile_site, author).get("/admin").status for author in (None, "ada", "")}
    assert seen == {None: 401, "ada": 401, "": 200}
    assert hostile_site.api("GET", "/api/admin", "ada").problem == (403, "W003")
    assert hostile_site.api("GET", "/api/mine", "").problem == (403, "W003")


# Links and cookies.


def test_a_link_becomes_a_cookie_and_leads_to_an_address_without_the_secret(unchanged: Site) -> None:
    reply = unchanged.get(f"/a/{SECRETS['ada']}")
    cookie = reply.headers["set-cookie"].lower()
    assert (reply.status, reply.headers["location"], reply.body) == (303, "/mine", b"")
    assert all(word in cookie for word in ("httponly", "samesite=lax", "path=/")) and "secure" not in cookie


@pytest.mark.long
def test_only_a_proxy_that_is_named_is_believed_and_its_cookie_is_secure(tmp_path: Path) -> None:
    headers = {"x_forwarded_proto": "https", "x_forwarded_for": "203.0.113.7"}
    folder, link = season_in(tmp_path), f"/a/{SECRETS['ada']}"
    for options, secure in ((["--proxy", "127.0.0.1"], True), ([], False)):  # also on this machine
        with serving_season(folder, *options) as running:
            assert ("secure" in running.get(link, **headers).headers["set-cookie"].lower()) == secure


def test_a_link_to_another_authors_account_asks_before_it_is_followed(unchanged: Site) -> None:
    ada = Browser(unchanged, "ada")
    page = ada.get(f"/a/{SECRETS['grace']}")
    assert page.status == 200 and "set-cookie" not in page.headers
    assert "is that of <strong>grace</strong>" in page.text
    assert "Bots of ada" in ada.get("/mine").text
    assert ada.get(f"/a/{SECRETS['ada']}").status == 303  # one's own link asks nothing
    form = f"secret={SECRETS['grace']}".encode()
    assert ada.send("POST", "/enter", form, content_type="application/x-www-form-urlencoded").status == 403
    assert "Bots of ada" in ada.get("/mine").text
    assert ada.post("/enter", f"/a/{SECRETS['grace']}", secret=SECRETS["grace"]).status == 303


def test_a_stranger_cannot_send_a_large_body(unchanged: Site) -> None:
    with socket.create_connection(("127.0.0.1", unchanged.port), timeout=30) as line:
        line.sendall(
            b"PUT /api/bots/mine HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 60000000\r\n\r\n" + b"x" * 1000
        )
        answer = b""
        while part := line.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 401")  # 408 if the site had waited for the body


def test_behind_a_proxy_that_is_not_named_nothing_is_unlimited() -> None:
    client = client_of(request_from("127.0.0.1"), SiteOptions())
    assert (client.local, client.trusted) == (True, False)
    limited = RateLimiter(LOCAL_REQUESTS, lambda: 0.0)
    assert sum(not limited.wait(client.address) for _ in range(LOCAL_REQUESTS.burst + 10)) == LOCAL_REQUESTS.burst


def request_from(peer: str, **headers: str) -> Request:
    """Return a request from an address."""
    lines = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request(
        {"type": "http", "client": (peer, 1), "headers": lines, "scheme": "http", "server": ("x", 80), "path": "/"}
    )


@pytest.mark.parametrize(
    ("peer", "passed_on", "counted"),
    [
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("127.0.0.1", "198.51.100.1", "127.0.0.1"),
        ("10.0.0.2", "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "", "2001:db8:1:2::/64"),
        ("10.0.0.2", "2001:db8:1:3::9", "2001:db8:1:3::/64"),
        ("::ffff:203.0.113.7", "", "203.0.113.7"),
    ],
)
def test_limits_count_addresses_of_ipv4_and_networks_of_ipv6(peer: str, passed_on: str, counted: str) -> None:
    request = request_from(peer, **({"x_forwarded_for": passed_on} if passed_on else {}))
    assert client_of(request, SiteOptions(proxies=("10.0.0.2",))).address == counted


@pytest.mark.long
def test_the_moment_of_the_final_is_announced(tmp_path: Path) -> None:
    with serving_season(season_in(tmp_path, final=1_797_000_000.0)) as running:
        assert all("2026-12-11T" in running.get(page).text for page in ("/", "/rules"))
        assert running.get("/api/season").json["final"] == 1_797_000_000.0


@pytest.mark.long
def test_all_authors_share_one_rendering_of_a_public_page(running: Site) -> None:
    pages = [Browser(running, author).get("/") for author in SECRETS if author]
    assert len({page.headers["etag"] for page in pages}) == 1
    assert "you are" not in pages[0].text and "/mine" in pages[0].text
    for author in SECRETS:
        if author:
            publish(running.folder, read(running.folder).author(author).value)  # what is for one author alone
    assert Browser(running, "ada").get("/").headers["etag"] == pages[0].headers["etag"]


def test_a_wrong_link_opens_nothing(unchanged: Site) -> None:
    for secret in ("wrong", "", "x" * 5000, "%00", "..%2f..", hashlib.sha256(SECRETS["ada"].encode()).hexdigest()):
        reply = unchanged.get(f"/a/{secret}")
        assert reply.status in (401, 404) and "set-cookie" not in reply.headers, secret
        assert unchanged.get("/mine", cookie=f"season_author={secret[:100]}").status == 401, secret


def test_a_link_that_was_replaced_is_refused_at_once(running: Site) -> None:
    ada = Browser(running, "ada")
    hashes = {name: hashlib.sha256(f"new {secret}".encode()).hexdigest() for name, secret in SECRETS.items()}
    publish_links(running.folder, hashes)
    assert ada.get("/mine").status == 401
    assert running.api("GET", "/api/mine", "ada").problem == (401, "W002")
    assert running.get(f"/a/{SECRETS['ada']}").status == 401


def test_a_browser_can_forget_a_link(unchanged: Site) -> None:
    ada = Browser(unchanged, "ada")
    assert ada.post("/leave", "/mine").status == 303
    assert ada.get("/mine").status == 401


def test_an_author_and_the_organiser_can_be_one_person(unchanged: Site) -> None:
    both = Browser(unchanged, "ada")
    both.get(f"/o/{SECRETS['']}")
    assert both.get("/mine").status == both.get("/admin").status == 200


# Forged forms.


def test_a_forged_form_changes_nothing(unchanged: Site) -> None:
    ada, grace = Browser(unchanged, "ada"), Browser(unchanged, "grace")
    foreign = grace.token("/mine")
    for path in (
        "/mine/versions/mine-2/activate",
        f"/mine/submissions/{own_rows(unchanged.folder, 'ada')[0].id}/cancel",
        "/leave",
    ):
        for body in (b"", f"token={foreign}".encode(), b"token=%00", b"token=" + b"0" * 64):
            reply = ada.send("POST", path, body, content_type="application/x-www-form-urlencoded")
            assert reply.status == 403 and "W004" in reply.text
    own_token = ada.token("/mine")
    body = f"token={own_token}".encode()
    form = {"content_type": "application/x-www-form-urlencoded"}
    assert ada.send("POST", "/mine/versions/mine-2/activate", body, sec_fetch_site="cross-site", **form).status == 403
    kind, upload = multipart({"token": foreign}, "mine.py", SOURCE)
    assert ada.send("POST", "/submit", upload, content_type=kind).status == 403
    assert unchanged.inbox() == [] and unchanged.left_behind() == []


def test_a_cookie_does_not_open_the_api(unchanged: Site) -> None:
    ada = Browser(unchanged, "ada")
    for method, path in (("GET", "/api/mine"), ("PUT", "/api/bots/mine"), ("POST", "/api/versions/mine-2/activate")):
        assert ada.send(method, path, b"x" if method != "GET" else b"").problem == (401, "W002")
    assert unchanged.inbox() == []


# Handing in.


def test_a_form_hands_in_a_bot_without_script(running: Site) -> None:
    ada = Browser(running, "ada")
    reply = ada.submit("my bot.tar.gz", SOURCE, bot="climber")
    page = ada.get(reply.headers["location"])
    assert reply.status == 303 and page.status == 200 and "received" in page.text and "not read it yet" in page.text
    (request,) = running.inbox()
    assert request == Submit("ada", "my bot.tar.gz", "web", "climber", "")
    (folder,) = (running.folder / "inbox").iterdir()
    assert (folder / UPLOAD_FILE).read_bytes() == SOURCE
    assert ada.get(f"{reply.headers['location']}/file").body == SOURCE
    assert 'http-equiv="refresh"' in page.text


def test_a_form_without_a_file_says_what_is_missing(unchanged: Site) -> None:
    ada = Browser(unchanged, "ada")
    reply = ada.submit("", b"")
    assert reply.status == 400 and "there is no file in the form" in reply.text and 'type="file"' in reply.text
    assert unchanged.inbox() == []


@pytest.mark.long
def test_the_same_bytes_are_the_same_submission(running: Site) -> None:
    first = running.api("PUT", "/api/bots/mine?file=a.py", "ada", SOURCE)
    again = running.api("PUT", "/api/bots/mine?file=b.py", "ada", SOURCE)
    by_form = Browser(running, "ada").submit("mine.py", SOURCE)
    assert (first.status, again.status) == (202, 200) and first.json == again.json
    assert by_form.headers["location"].endswith(first.json["id"]) and len(running.inbox()) == 1
    assert first.json["id"] == submission_id("ada", "mine", hashlib.sha256(SOURCE).hexdigest())
    assert running.api("PUT", "/api/bots/other", "ada", SOURCE).json["id"] != first.json["id"]


@pytest.mark.long
def test_what_the_season_has_already_is_not_handed_in_again(running: Site) -> None:
    for row in own_rows(running.folder, "ada"):
        content = (running.folder / "uploads" / row.sha256).read_bytes()
        reply = running.api("PUT", f"/api/bots/mine?file={row.file_name}", "ada", content)
        assert (reply.status, reply.json["id"], reply.json["state"]) == (200, row.id, row.state)
    assert running.inbox() == []


@pytest.mark.long
def test_two_authors_may_have_bots_of_one_name(running: Site) -> None:
    for name, shown in (("mine", "grace.mine"), ("MINE", "grace.MINE"), ("davey", "davey"), ("fresh", "fresh")):
        reply = running.api("PUT", f"/api/bots/{name}", "grace", SOURCE + name.encode())
        assert (reply.status, reply.json["bot"]) == (202, shown)
        assert running.api("GET", reply.json["url"], "grace").json["state"] == "received"
    assert {request.bot for request in running.inbox()} == {"grace.mine", "grace.MINE", "davey", "fresh"}


@pytest.mark.long
def test_what_was_cancelled_can_be_handed_in_again(running: Site) -> None:
    made = own(running.folder, plain, "ada")
    cancelled = msgspec.structs.replace(made.submissions[0], state="cancelled", place=0)
    publish(running.folder, msgspec.structs.replace(made, submissions=(cancelled,)))
    content = (running.folder / "uploads" / cancelled.sha256).read_bytes()
    reply = running.api("PUT", "/api/bots/mine", "ada", content)
    assert (reply.status, reply.json["state"], reply.json["id"]) == (202, "received", cancelled.id)
    assert running.api("GET", f"/api/submissions/{cancelled.id}", "ada").json["state"] == "received"


@pytest.mark.long
def test_a_request_that_the_season_refuses_says_why(running: Site) -> None:
    handed_in = running.api("PUT", "/api/bots/mine", "ada", SOURCE).json
    (folder,) = (running.folder / "inbox").iterdir()
    answer = Answer(folder.name, "ada", 1.0, "5 submissions wait already", code="E005", cure="wait for a verdict")
    made = msgspec.structs.replace(own(running.folder, plain, "ada"), answers={folder.name: answer})
    publish(running.folder, made)
    shutil.rmtree(folder)
    found = running.api("GET", handed_in["url"], "ada").json
    assert (found["state"], found["why"]) == ("refused", "5 submissions wait already; wait for a verdict")
    told = running.api("GET", f"/api/requests/{folder.name}", "ada").json
    assert (told["state"], told["answer"], told["code"]) == ("done", answer.text, "E005")
    assert running.api("GET", f"/api/requests/{folder.name}", "grace").problem == (404, "W001")


@pytest.mark.long
def test_a_program_waits_for_a_verdict(running: Site) -> None:
    (waiting, *_) = own_rows(running.folder, "ada")
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(running.api, "GET", f"/api/submissions/{waiting.id}?wait=50&since=waiting", "ada")
        made = own(running.folder, plain, "ada")
        done = msgspec.structs.replace(made.submissions[2], id=waiting.id)
        publish(running.folder, msgspec.structs.replace(made, submissions=(done,)))
        found = answer.result(60).json
    assert (found["state"], found["accepted"], found["label"]) == ("accepted", True, "mine-2")
    assert [line["mark"] for line in found["checks"]] == ["✓", "✓", "!"] and found["practice"][0]["tables"] == 1000


@pytest.mark.long
def test_a_submission_is_found_by_the_hash_of_its_file(running: Site) -> None:
    (row, *_) = own_rows(running.folder, "ada")
    assert running.api("GET", f"/api/submissions/{row.sha256}", "ada").json["id"] == row.id


@pytest.mark.long
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_real_curl_hands_in_by_link_and_by_token(running: Site, tmp_path: Path) -> None:
    file = tmp_path / "mine.tar.gz"
    file.write_bytes(os.urandom(3 << 20))
    curl = ["curl", "-sS", "--max-time", "60"]
    by_form = subprocess.run(
        [*curl, "-F", f"file=@{file}", f"{running.url}/a/{SECRETS['ada']}"], capture_output=True, check=True
    )
    bearer = ["-H", f"Authorization: Bearer {SECRETS['ada']}"]
    by_put = subprocess.run(
        [*curl, "-T", str(file), *bearer, f"{running.url}/api/bots/mine"], capture_output=True, check=True
    )
    one, two = json.loads(by_form.stdout), json.loads(by_put.stdout)
    assert (
        one["id"] == two["id"]
        and one["bot"] == "mine"
        and one["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    )
    wrong = subprocess.run([*curl, "-F", f"file=@{file}", f"{running.url}/a/wrong"], capture_output=True, check=True)
    assert json.loads(wrong.stdout)["code"] == "W002" and len(running.inbox()) == 1


# What authors and the organiser do.


@pytest.mark.long
def test_an_author_lets_a_version_play_rest_and_practise(running: Site) -> None:
    ada = Browser(running, "ada")
    for action, fields in (
        ("activate", {}),
        ("deactivate", {}),
        ("practice", {"tables": "100", "opponent": "davey-3"}),
    ):
        assert ada.post(f"/mine/versions/mine-2/{action}", "/mine/versions/mine-2", **fields).status == 303
    assert ada.post("/mine/versions/davey-2/activate", "/mine").status == 404
    wish = json.dumps({"opponents": ["nestor"], "tables": 50}).encode()
    reply = running.api("POST", "/api/versions/mine-1/practice", "ada", wish)
    assert reply.status == 202 and running.api("GET", reply.json["url"], "ada").json["state"] == "received"
    assert running.api("POST", "/api/versions/mine-1/activate", "ada").status == 202
    assert running.inbox() == [
        Activate("ada", "mine", 2, True),
        Activate("ada", "mine", 2, False),
        Practise("ada", "mine", 2, ("davey-3",), 100),
        Practise("ada", "mine", 1, ("nestor",), 50),
        Activate("ada", "mine", 1, True),
    ]


def test_practice_that_is_not_possible_is_refused(unchanged: Site) -> None:
    bodies = [b"{", b"[]", b'{"tables": 0}', b'{"tables": 99999}', b'{"opponents": "x"}', b"\xff", b"[" * 9000]
    bodies += [b'{"opponents": ["\\u0000"]}']
    told = {body: unchanged.api("POST", "/api/versions/mine-1/practice", "ada", body).problem for body in bodies}
    assert told == dict.fromkeys(bodies, (400, "W008"))


@pytest.mark.long
def test_a_submission_is_cancelled_from_page_and_program(running: Site) -> None:
    (row, *_) = own_rows(running.folder, "ada")
    assert Browser(running, "ada").post(f"/mine/submissions/{row.id}/cancel", "/mine").status == 303
    assert running.api("POST", f"/api/submissions/{row.id}/cancel", "ada").status == 202
    assert running.inbox() == [Cancel("ada", row.id)] * 2
    assert running.api("POST", f"/api/submissions/{row.id}/cancel", "grace").problem == (404, "W001")


@pytest.mark.long
def test_the_organiser_pauses_and_withdraws(running: Site) -> None:
    organiser = Browser(running, "")
    assert organiser.post("/admin/pause", "/admin").status == 303
    assert organiser.post("/admin/withdraw", "/admin", subject="davey", reason="copied").status == 303
    assert organiser.post("/admin/withdraw", "/admin").status == 400
    assert organiser.post("/admin/freeze", "/admin").status == 400
    assert organiser.post("/admin/freeze", "/admin", word="Freeze").status == 303
    assert organiser.post("/admin/destroy", "/admin").status == 404
    reply = running.api("POST", "/api/admin/resume", "", b"")
    assert reply.status == 202 and running.api("GET", reply.json["url"], "").json["state"] == "received"
    assert running.api("POST", "/api/admin/pause", "ada").problem == (403, "W003")
    assert running.inbox() == [
        Manage("pause"),
        Manage("withdraw", "davey", "copied"),
        Manage("freeze"),
        Manage("resume"),
    ]


# A season that is open to anybody.


def test_anybody_takes_a_name_and_gets_a_link_once(tmp_path: Path) -> None:
    with serving_season(season_in(tmp_path, submissions="anybody")) as running:
        visitor = Browser(running)
        assert "Take a name" in visitor.get("/submit").text
        page = visitor.post("/join", "/submit", name="zed")
        (link,) = re.findall(r"http://127\.0\.0\.1:\d+/a/([\w-]+)", page.text)
        (request,) = running.inbox()
        assert request == Join("zed", hashlib.sha256(link.encode()).hexdigest())
        assert visitor.get("/mine").status == 503  # the season has not read the name yet
        assert visitor.submit("mine.py", b"print(1)").status == 503
        hashes = {
            name: hashlib.sha256(secret.encode()).hexdigest() for name, secret in (SECRETS | {"zed": link}).items()
        }
        publish_links(running.folder, hashes)
        assert visitor.get("/mine").status == 200 and "zed" in visitor.get("/mine").text
        told = running.send("POST", "/api/join", b'{"name": "yan"}')
        assert told.status == 202 and told.json["link"].endswith(told.json["secret"])


@pytest.mark.long
def test_a_name_that_is_taken_or_odd_is_refused(tmp_path: Path) -> None:
    names = ["ada", "ADA", "zed", "", "a/b", "../x", "<b>", "\u202eada", "x" * 60, "organiser", "-x", "."]
    with serving_season(season_in(tmp_path, submissions="anybody")) as running:
        assert running.send("POST", "/api/join", b'{"name": "zed"}').status == 202
        told = {name: running.send("POST", "/api/join", json.dumps({"name": name}).encode()).problem for name in names}
        assert {*told.values()} == {(409, "W009"), (400, "E002")}, told
        assert len(running.inbox()) == 1


def test_nobody_takes_a_name_in_a_season_of_invited_authors(unchanged: Site) -> None:
    assert unchanged.send("POST", "/api/join", b'{"name": "zed"}').problem == (409, "W011")
    assert 'action="/join"' not in unchanged.get("/submit").text and unchanged.inbox() == []


# Behind a proxy.


@pytest.mark.long
def test_a_proxys_header_is_believed_from_this_machine_only_if_it_was_named(tmp_path: Path) -> None:
    folder = season_in(tmp_path)
    with serving_season(folder) as running:
        assert running.get("/mine", x_user="ada").status == 401
    with serving_season(folder, "--proxy-header", "X-User", "--proxy", "127.0.0.1") as running:
        assert running.get("/mine", x_user="ada").status == 200
        assert running.get("/mine", x_user="mallory").problem == (403, "W003")
        assert running.get("/mine").status == 401


@pytest.mark.long
def test_a_site_on_this_machine_answers_to_its_own_names_only(tmp_path: Path) -> None:
    folder = season_in(tmp_path)
    with serving_season(folder) as running:
        assert running.get("/", host="cup.example").problem == (400, "W003")
        assert running.get("/", host="localhost:80").status == 200
    with serving_season(folder, "--url", "https://cup.example") as running:
        assert (
            running.get("/", host="cup.example").status == 200 and running.get("/", host="evil.example").status == 400
        )
        assert "https://cup.example/a/SECRET" in running.get("/rules").text
    with serving_season(folder, "--url", "http://[FD00::1]:8462") as running:
        assert running.get("/", host="[fd00::1]:8462").status == 200


@pytest.mark.long
@pytest.mark.parametrize("inside", breadth([True, False], 2))
def test_the_site_can_open_nothing_of_the_season_but_its_own_folders(tmp_path: Path, inside: bool) -> None:
    if landlock.version() < landlock.WANTED:
        pytest.skip("this kernel has no Landlock")
    folder = season_in(tmp_path)
    place = folder / ("published" if inside else "rounds") / "other.sqlite"
    place.parent.mkdir(exist_ok=True)
    (folder / "published" / "site.sqlite").rename(place)
    (folder / "published" / "site.sqlite").symlink_to(place)
    with serving_season(folder) as running:
        assert running.get("/api/ladder").status == (200 if inside else 503)


@pytest.mark.long
def test_a_site_that_was_started_before_its_season_shows_it_later(tmp_path: Path) -> None:
    with serving_season(tmp_path) as running:
        assert running.get("/api/season").status == 503
        season_in(tmp_path)
        assert running.get("/api/season").status == 200


@pytest.mark.long
def test_a_site_that_cannot_create_its_folders_says_so(tmp_path: Path) -> None:
    (tmp_path / "published").write_text("a file")
    done = croupier_process("-C", tmp_path, "season", "site", "--bind", "127.0.0.1:0")
    assert done.code == 6 and "published: cannot be created" in done.err


@pytest.mark.long
def test_a_chain_that_grows_while_it_is_sent_is_sent_as_it_was(running: Site) -> None:
    file, old, new = running.folder / "published/chain.ndjson", b"x" * ((16 << 20) + 1), b"y" * 1000
    file.write_bytes(old)
    with contextlib.closing(HTTPConnection("127.0.0.1", running.port, timeout=60)) as line:
        line.request("GET", "/chain.ndjson")
        answer = line.getresponse()
        with file.open("ab") as grows:
            grows.write(new)
        assert answer.read() == old
    assert running.get("/chain.ndjson", range=f"bytes={len(old)}-").body == new
    assert running.get("/chain.ndjson", range=f"bytes={len(old) + len(new)}-").status == 416


def test_what_an_earlier_croupier_has_published_is_made_again(tmp_path: Path) -> None:
    folder = season_in(tmp_path)
    file = folder / "published/site.sqlite"
    with contextlib.closing(sqlite3.connect(file)) as old:
        old.executescript(
            "DROP TABLE own_tables; CREATE TABLE own_tables (name TEXT); PRAGMA application_id = 1668445033;"
        )
    publish(folder, site(plain, 8), own(folder, plain, "ada"))
    with contextlib.closing(sqlite3.connect(file)) as made:
        assert made.execute("SELECT round FROM own_tables").fetchall() == [(3,)]


# Limits.


def test_a_file_above_the_limit_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with serving_season(season_in(tmp_path, upload_bytes=100_000)) as running:
        large = b"x" * 400_000  # the pipes take it, however slow the site is
        assert running.api("PUT", "/api/bots/mine", "ada", large).problem == (413, "W005")
        ada = Browser(running, "ada")
        page = ada.submit("large.py", large)
        assert page.status == 413 and "W005" in page.text and 'type="file"' in page.text
        kind, body = multipart({"token": ada.token("/submit")}, "large.py", b"x" * 100_001)
        assert running.api("POST", "/api/bots", "ada", body, content_type=kind).problem == (413, "W005")
        assert running.inbox() == [] and running.left_behind() == []


@pytest.mark.long
def test_what_a_limit_does_not_allow_is_refused_at_once(running: Site) -> None:
    limited(running.folder, Quota(AuthorLimits(queue=3), Used(waiting=1)))
    answers = [running.api("PUT", "/api/bots/fresh", "ada", SOURCE + bytes([nth])) for nth in range(3)]
    assert [answer.status for answer in answers] == [202, 202, 429]
    told = answers[2].json
    assert (told["code"], told["exit"], answers[2].headers["retry-after"]) == ("E004", 5, "10")
    assert told["message"] == "3 submissions of yours wait for a verdict, and 3 may"
    assert running.api("PUT", "/api/bots/fresh", "ada", SOURCE + bytes([0])).status == 200
    page = Browser(running, "ada").submit("fresh.py", SOURCE)
    assert page.status == 429 and "E004" in page.text and 'type="file"' in page.text
    assert len(running.inbox()) == 2
    assert running.api("PUT", "/api/bots/davey", "grace", SOURCE).status == 202


@pytest.mark.long
def test_a_refusal_by_a_limit_says_when_to_come_again(running: Site) -> None:
    limited(running.folder, Quota(AuthorLimits(per_hour=1), Used(began=(time.time() - 3000,))))
    refused = running.api("PUT", "/api/bots/fresh", "ada", SOURCE)
    assert refused.problem == (429, "E005") and 500 < int(refused.headers["retry-after"]) <= 600
    limited(running.folder, Quota(AuthorLimits(versions=2), Used(versions=2)))
    refused = running.api("PUT", "/api/bots/fresh", "ada", SOURCE)
    assert refused.problem == (409, "E007") and "retry-after" not in refused.headers
    assert running.inbox() == []


@pytest.mark.long
def test_the_usage_of_an_hour_falls_although_nothing_is_published(running: Site) -> None:
    ada, began = Browser(running, "ada"), time.time() - HOUR_S + 3.0  # the submission leaves the hour in three seconds
    limited(running.folder, Quota(AuthorLimits(per_hour=1), Used(began=(began,))))
    assert "<small>1 of 1</small>" in ada.get("/mine").text
    while "<small>0 of 1</small>" not in ada.get("/mine").text:
        assert time.time() < began + HOUR_S + 5.0
    assert running.api("GET", "/api/mine", "ada").json["quota"]["submissions in the last hour"] == "0 of 1"


def limited(folder: Path, quota: Quota) -> None:
    """Publish what ada may use, and has used."""
    publish(folder, PublishedAuthor("ada", hashlib.sha256(SECRETS["ada"].encode()).hexdigest(), quota, ()))


@pytest.mark.long
@pytest.mark.parametrize("size", breadth([6000, 100_000], 2))
def test_a_disk_that_is_full_is_not_an_error_of_croupier(running: Site, size: int) -> None:
    content, ada = b"x" * size, Browser(running, "ada")
    token = ada.token("/submit")
    resource.prlimit(running.process.pid, resource.RLIMIT_FSIZE, (4096, 4096))  # of every file that it writes
    reply = running.api("PUT", "/api/bots/fresh", "ada", content)
    assert reply.problem == (503, "W010") and reply.json["exit"] == 5
    kind, body = multipart({"token": token}, "fresh.py", content)
    assert running.api("POST", "/api/bots", "ada", body, content_type=kind).problem == (503, "W010")
    assert running.inbox() == [] and running.left_behind() == []


def test_an_author_who_asks_too_much_waits_and_others_do_not(running: Site) -> None:
    answers = [running.api("POST", "/api/versions/mine-1/activate", "ada") for _ in range(25)]
    assert {reply.status for reply in answers[:20]} == {202} and answers[-1].problem == (429, "W007")
    assert int(answers[-1].headers["retry-after"]) > 0
    assert running.api("POST", "/api/versions/davey-1/activate", "grace").status == 202


@pytest.mark.timing  # an address may ask 20 times a second: a slow machine would not get beyond that
def test_an_address_that_asks_too_much_waits_and_others_do_not(tmp_path: Path) -> None:
    with serving_season(season_in(tmp_path), "--proxy", "127.0.0.1") as running:
        answers = set[int]()
        with ThreadPoolExecutor(8) as pool:
            for _ in range(20):  # the slower the machine, the later the address has used up its burst
                some = pool.map(lambda _: running.get("/api/rounds", x_forwarded_for="203.0.113.9").status, range(200))
                answers |= {*some}
                if 429 in answers:
                    break
        assert answers == {200, 429}
        assert running.get("/api/rounds", x_forwarded_for="203.0.113.10").status == 200


@pytest.mark.long
def test_two_uploads_of_an_author_run_at_the_same_time_and_no_third(running: Site) -> None:
    head = f"PUT /api/bots/mine HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {SECRETS['ada']}\r\n"
    head += "content-length: 50000\r\n\r\n"
    with (
        socket.create_connection(("127.0.0.1", running.port)) as one,
        socket.create_connection(("127.0.0.1", running.port)) as two,
    ):
        for line in (one, two):
            line.sendall(head.encode() + b"x")
        until = time.monotonic() + 120
        while len(running.left_behind()) < 2 and time.monotonic() < until:
            time.sleep(0.02)
        assert running.api("PUT", "/api/bots/mine", "ada", SOURCE).problem == (429, "W007")
        assert running.api("PUT", "/api/bots/davey", "grace", SOURCE).status == 202
    while running.left_behind() and time.monotonic() < until:
        time.sleep(0.02)
    assert running.left_behind() == []


@pytest.mark.long
def test_what_a_killed_site_was_receiving_is_removed_by_the_next(tmp_path: Path) -> None:
    folder = season_in(tmp_path)
    (folder / "inbox" / ".upload-0123").write_bytes(b"half")
    with serving_season(folder) as running:
        assert running.get("/").status == 200 and running.left_behind() == []


@pytest.mark.long
def test_a_file_with_an_odd_name_is_refused_by_name(running: Site) -> None:
    names = ["../../etc/passwd", "a\\b", ".bashrc", "-rf", "x" * 200, "\u202etxt.exe", "a\x00b", " ", "=cmd()\t"]
    told = {name: running.api("PUT", f"/api/bots/mine?file={quote(name)}", "ada", SOURCE).problem for name in names}
    assert told == dict.fromkeys(names, (400, "E002"))
    assert running.inbox() == [] and running.left_behind() == []


# Streams of events.


def events(running: Site, path: str, **headers: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream."""
    lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
    with socket.create_connection(("127.0.0.1", running.port), timeout=30) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{lines}\r\n".encode())
        file = line.makefile("rb")
        for each in file:
            if each.startswith(b"data: "):
                yield json.loads(each[6:])
            elif each.startswith(b"retry"):
                yield {}


@pytest.mark.long
def test_listeners_hear_what_has_changed_and_only_their_own(running: Site) -> None:
    ada = events(running, "/api/events", authorization=f"Bearer {SECRETS['ada']}")
    nobody = events(running, "/events")
    assert next(ada) == next(nobody) == {}
    publish(running.folder, own(running.folder, plain, "grace"))
    publish(running.folder, own(running.folder, plain, "ada"))
    assert next(ada) == {"changed": ["mine"]}
    publish(running.folder, site(plain, 8, waiting=3))
    assert next(ada) == next(nobody) == {"changed": ["site"]}


@pytest.mark.long
def test_a_listener_that_comes_back_hears_what_it_has_missed(running: Site) -> None:
    (edition,) = re.findall(r'data-live="(\w+)"', running.get("/").text)
    publish(running.folder, site(plain, 8, waiting=4))
    stream = events(running, f"/events?since={edition}")
    assert next(stream) == {} and "site" in next(stream)["changed"]


@pytest.mark.long
@pytest.mark.timing
def test_fifty_listeners_and_one_that_stops_reading_do_not_delay_the_end(tmp_path: Path) -> None:
    folder = season_in(tmp_path, rows=400)
    with serving_season(folder) as running:
        streams = [events(running, "/events") for _ in range(50)]
        assert [next(each) for each in streams] == [{}] * 50
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        deaf.connect(("127.0.0.1", running.port))
        deaf.sendall(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" * 200)
        publish(folder, site(plain, 8, waiting=5))
        assert [next(each) for each in streams] == [{"changed": ["site"]}] * 50
        assert running.get("/").status == 200
        began = time.monotonic()
        running.process.terminate()
        assert running.process.wait(20) == 0 and time.monotonic() - began < 10
        deaf.close()


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/rounds/99",
        "/bots/none",
        "/bots/..%2fsite",
        "/bots/.%2e",
        "/rounds/x",
        "/assets/../x",
        "/mine/../admin/x",
        "/%00",
        "/bots/%ff",
        "/api/bots/" + "x" * 3000,
    ],
)
def test_what_does_not_exist_is_said_to_programs_and_to_people(hostile_site: Site, path: str) -> None:
    reply = hostile_site.get(path)
    assert reply.problem == (404, "W001") and reply.json["schema"] == "croupier/error/1" and reply.json["exit"] == 2
    if not path.startswith("/api/"):
        page = hostile_site.get(path, accept="text/html")
        assert page.status == 404 and 'role="alert"' in page.text and "W001" in page.text


def test_only_what_an_address_takes_is_possible(hostile_site: Site) -> None:
    for method, path in (("POST", "/"), ("DELETE", "/api/ladder"), ("PUT", "/mine"), ("TRACE", "/")):
        assert hostile_site.send(method, path, b"x").problem == (405, "W001")
