"""A folder as the site of a season sees it: documents that the test writes itself, an inbox, and uploads."""

import hashlib
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from host.season import documents as d
from host.season.entries.queue import Quota
from host.season.entries.values import Answer, PracticeResult, SlowAnswer, Verdict, submission_id
from host.season.folder import SeasonFolder
from host.season.site.published import Published
from host.season.site_database import SiteDatabase, published
from host.submissions.finding import Finding

SECRETS = {
    "ada": "ada-secret-6tqYbX0LZ3v1",
    "grace": "grace-secret-9vkQm2",
    "<b>\"eve'&": "eve-secret-2xPw",
    "": "organisers-secret-7Jd",
}
"""The secret of each author's link; that of the organiser stands under ""."""

DOCUMENTS: dict[type, str] = {
    d.SiteDocument: "site",
    d.LadderDocument: "ladder",
    d.AdminDocument: "admin",
    d.EntriesDocument: "entries",
}
EVE = "<b>\"eve'&"
HOSTILE = "</script><script>window.evil=1</script>\"'><img src=x onerror=window.evil=2>\u202e\x1b[31m\x07=1+1 {{7*7}}"
NOW = 1_764_100_000.0


def plain(text: str) -> str:
    """Return a text of the season as it is."""
    return text


def hostile(text: str) -> str:
    """Return a text of the season as a hostile author would have it."""
    return f"{text}{HOSTILE}"


def season_in(folder: Path, spelled: Callable[[str], str] = plain, rows: int = 8, **changes: Any) -> Path:
    """Write the documents of a season with a number of bots into a folder; return the folder."""
    for name in ("inbox", "uploads", "published/rounds"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    report = "<!doctype html><html lang=en><title>r</title><h1>Report</h1><script>window.evil=3</script>"
    (folder / "published/rounds/1.html").write_text(report)
    shown = [ladder(spelled, rows), *(a_round(spelled, number, rows) for number in (1, 2, 3))]
    bots = [bot(spelled, row.bot, row.author, row.number) for row in ladder(spelled, rows).rows]
    owned = {found.bot for found in bots}
    authors = [own(folder, spelled, author) for author in SECRETS if author]
    bots += [d.BotDocument(each.versions[0].label.rpartition("-")[0], each.author, each.versions, ()) for each in authors
             if each.versions[0].label.rpartition("-")[0] not in owned]  # fmt: skip
    publish(folder, site(spelled, rows, **changes), *shown, *bots, *authors, admin(spelled))
    publish_links(folder, {name: hashlib.sha256(secret.encode()).hexdigest() for name, secret in SECRETS.items()})
    return folder


def publish(folder: Path, *values: Any) -> None:
    """Publish values as the season process does."""
    with published(SeasonFolder(folder)) as site, site.database.transaction():
        for value in values:
            _publish(site, value)


def _publish(site: SiteDatabase, value: Any) -> None:
    if name := DOCUMENTS.get(type(value)):
        site.document(name, value)
    elif isinstance(value, d.RoundDocument):
        site.put("rounds", d.ROUND, d.PublishedRound(value.row.number, value.row, value.meetings, value.report))
    elif isinstance(value, d.BotDocument):
        site.put("bots", d.BOT, value)
    elif isinstance(value, d.PublishedAuthor):
        site.put("mine/" + value.author, d.AUTHOR, value)
    else:
        author, topic = value.author, "mine/" + value.author
        known = site.database.first(d.AUTHOR, "WHERE author = ?", author)
        token = known.token_sha256 if known else hashlib.sha256(author.encode()).hexdigest()
        site.put(topic, d.AUTHOR, d.PublishedAuthor(author, token, Quota(), value.faults))
        site.remove(topic, d.SUBMISSION, author=author)
        for row in value.submissions:
            site.put(topic, d.SUBMISSION, msgspec.structs.replace(row, author=author))
        for answer in value.answers.values():
            site.put(topic, d.ANSWER, answer)
        for number in value.tables:
            content = f'{{"own": "{marker(author)}"}}\n'
            bot_name = value.versions[0].label.rpartition("-")[0]
            site.put(topic, d.OWN_TABLES, d.OwnTables(bot_name, number, content))


def publish_links(folder: Path, hashes: Mapping[str, str]) -> None:
    """Publish the hashes of the secrets of all links."""
    with published(SeasonFolder(folder)) as site:
        for author, token in hashes.items():
            known = site.database.first(d.AUTHOR, "WHERE author = ?", author)
            site.put(
                "mine/" + author,
                d.AUTHOR,
                (known or d.PublishedAuthor(author, "", Quota(), ()))._replace(token_sha256=token),
            )


def read(folder: Path) -> Published:
    """Return what a season has published, as its site reads it."""
    return Published(folder / "published")


def marker(author: str) -> str:
    """Return a text that only pages for this author may contain."""
    return f"only-for-{hashlib.sha256(author.encode()).hexdigest()[:12]}"


NAMES = ("mine", "davey", "glaucus", "nestor2", "bluff-master", "tit4tat", "the_gambler", "q-learner")
AUTHORS = ("ada", "grace", EVE, "linus", "barbara", "edsger", "margaret", "donald")


def site(spelled: Callable[[str], str], rows: int, **changes: Any) -> d.SiteDocument:
    """Return the document of the season as a whole."""
    made = d.SiteDocument(
        name=spelled("Winter Cup"),
        game="pazaak",
        title=spelled("Pazaak"),
        state="open",
        submissions="invited",
        freeze=NOW + 30 * 86400,
        round=3,
        next_round=NOW + 180,
        bots=rows,
        versions=3 * rows,
        waiting=2,
        now=spelled("Java build, 6 s"),
        active=1,
        limits={
            spelled("bot: move"): spelled("100 ms"),
            "bot: memory": "256 MiB",
            "author: file": "16 MiB",
            "author: in an hour": "20 submissions",
        },
        references=(spelled("nestor"), "dumb_bold"),
        card=spelled(
            "A question is one line:\n  round my-total my-side-deck other-total\nAnswer with one of\n  HIT, STAND, PLAY <card>"
        ),
        rules={"rounds": "3", spelled("target"): spelled("20")},
        seed_sha256="8f1c" * 16,
        notices=(spelled("2026-11-20 10:00 UTC: budget is 5 min from round 2 on"),),
    )
    return msgspec.structs.replace(made, **changes)


def ladder(spelled: Callable[[str], str], rows: int) -> d.LadderDocument:
    """Return a ladder."""
    made = []
    for nth in range(rows):
        name = NAMES[nth] if nth < len(NAMES) else f"bot{nth}"
        author = AUTHORS[nth % len(AUTHORS)]
        rating = 1712.0 - 37 * nth - (nth * nth) % 17
        history = (*tuple(rating + 40 * ((nth + 3) * step * 7919 % 13 - 6) / (step + 1) for step in range(12)), rating)
        moved = (
            f"from 5th to {nth + 1}th because davey-2 lost 212 of 300 tables against new versions"
            if nth in (0, 3)
            else ""
        )
        made.append(
            d.LadderRow(
                rank=nth + 1,
                label=f"{name}-{nth + 2}",
                bot=name,
                number=nth + 2,
                author=author,
                language=spelled("python"),
                rating=rating,
                interval=24 + nth,
                ranks=(max(1, nth), min(rows, nth + 2)),
                tables=1240 - 20 * nth,
                faults=nth % 3,
                tried=nth + 2,
                history=history,
                ahead=None if nth == rows - 1 else 0.97 - 0.04 * (nth % 5),
                moved=spelled(moved) if moved else "",
                neighbours=0.61,
                note=spelled("taken off the ladder after three fixtures in a row with crashes") if nth == 5 else "",
            )
        )
    return d.LadderDocument(
        3,
        NOW,
        tuple(made),
        spelled("The model fits: 48 of 1 000 pairs are outside their 95 % interval."),
        spelled("The chance that nobody outside the first 8 belongs inside is 83 %."),
    )


def round_row(spelled: Callable[[str], str], number: int) -> d.RoundRow:
    """Return a round; the last one is running."""
    running = number == 3
    return d.RoundRow(
        number,
        "running" if running else "finished",
        NOW - 600 * (4 - number),
        None if running else NOW - 600 * (3 - number),
        24,
        1200,
        number,
        number == 2,
        "" if running else "ab12" * 16,
        "" if running else "77" * 16,
        spelled("the answers of its tables were removed to save space") if number == 1 else "",
    )


def a_round(spelled: Callable[[str], str], number: int, rows: int) -> d.RoundDocument:
    """Return a round with meetings of neighbours."""
    labels = [row.label for row in ladder(spelled, rows).rows]
    meetings = tuple(d.MeetingRow((one, two), 60, (33.5, 26.5), (0, 2)) for one, two in pairwise(labels))
    return d.RoundDocument(round_row(spelled, number), meetings, "rounds/1.html" if number == 1 else "")


def bot(spelled: Callable[[str], str], name: str, author: str, number: int) -> d.BotDocument:
    """Return a bot with its versions and opponents."""
    opponents = tuple(
        d.Opponent(f"{other}-{nth + 2}", 120, 66.5 - nth) for nth, other in enumerate(NAMES) if other != name
    )
    return d.BotDocument(name, author, tuple(versions(spelled, name, number)), opponents, (1,))


def versions(spelled: Callable[[str], str], name: str, number: int) -> list[d.VersionRow]:
    """Return the versions of a bot, newest first."""
    return [
        d.VersionRow(
            f"{name}-{nth}",
            nth,
            f"{nth:x}" * 64,
            spelled("python"),
            NOW - 86400 * (number - nth),
            nth == number,
            1700.0 - 20 * nth,
            24.0,
            300 * nth,
            nth % 2,
            "" if nth > 1 else spelled("withdrawn by its author"),
        )
        for nth in range(number, 0, -1)
    ]


def verdict(spelled: Callable[[str], str], accepted: bool) -> Verdict:
    """Return a verdict."""
    failed = Finding(
        "✗", "40 questions", spelled("wrong answer to question 3"), spelled("print the move with print(…, flush=True)")
    )
    return Verdict(
        accepted,
        (
            Finding("✓", "builds", spelled("gcc 12, 0.8 s")),
            Finding("✓", "starts", "12 ms"),
            Finding("!", "limits", "memory: 201 of 256 MiB"),
        )
        + (() if accepted else (failed,)),
        ()
        if accepted
        else (spelled("error[B023] question 3: the answer is not a move\n  hint: HIT, STAND or PLAY <card>"),),
        spelled("mine.c: In function 'main':\nmine.c:12:9: warning: unused variable 'x' [-Wunused-variable]"),
        "" if accepted else spelled("Traceback (most recent call last):\n  File \"mine.py\", line 7\nKeyError: 'K'"),
        ""
        if accepted
        else spelled("question 3: 2 15 +3,-2 18\nanswer:     HITT\nthe process ended with signal 11 (SIGSEGV)"),
        0.061,
        0.1,
        (SlowAnswer(0.061, spelled("2 15 +3,-2 18"), spelled("HIT")), SlowAnswer(0.055, "1 0 - 0", "STAND")),
        (
            PracticeResult(spelled("nestor"), 1000, 512, 0, 0.481, 0.543),
            PracticeResult("dumb_bold", 1000, 803.5, 2, 0.777, 0.828),
        )
        if accepted
        else (),
        21.5,
    )


def own(folder: Path, spelled: Callable[[str], str], author: str) -> d.AuthorDocument:
    """Return what an author sees, with a text in each part that nobody else may see; store the files."""
    name, secret = ("mine" if author == "ada" else "evil" if author == EVE else "davey"), marker(author)
    rows = []
    states = (
        ("waiting", "1 before it; a Java build, 6 s", 2, None),
        ("refused", "wrong answer to question 3", 0, False),
        ("accepted", "", 0, True),
    )
    for nth, (state, reason, place, accepted) in enumerate(states):
        content = f"source of {secret}, file {nth}".encode()
        sha256 = hashlib.sha256(content).hexdigest()
        (folder / "uploads" / sha256).write_bytes(content)
        found = None if accepted is None else verdict(spelled, accepted)
        label = f"{name}-2" if state == "accepted" else ""
        file_name = spelled(f"{secret}.tar.gz")
        rows.append(
            d.SubmissionRow(
                submission_id(author, name, sha256),
                name,
                file_name,
                sha256,
                len(content),
                NOW - 60 * nth,
                state,
                spelled(reason) if reason else "",
                place,
                label,
                found,
            )
        )
    faults = tuple(
        d.FaultRow(
            f"{name}-2",
            f"round 3, table {nth}",
            "crash",
            spelled("signal 11"),
            spelled(f"question of {secret}"),
            spelled(f"answer of {secret}"),
            spelled(f"stderr of {secret}\nline 2"),
        )
        for nth in (1, 2)
    )
    messages = (spelled(f"{name}-2 plays from round 3 on"), spelled(f"message for {secret}"))
    answers = {f"{author}{nth}": Answer(f"{author}{nth}", author, NOW + nth, text) for nth, text in enumerate(messages)}
    return d.AuthorDocument(author, tuple(rows), tuple(versions(spelled, name, 2)), faults, (3,), Quota(), answers)


def admin(spelled: Callable[[str], str]) -> d.AdminDocument:
    """Return what the organiser sees."""
    row = d.SubmissionRow(
        "aa" * 8,
        "mine",
        spelled("mine.tar.gz"),
        "ab" * 32,
        12300,
        NOW,
        "building",
        spelled("a Java build, 6 s"),
        1,
        "",
        None,
    )
    log = tuple(f"2026-11-25 20:0{nth}:00 UTC round {nth}: 1 200 tables, {spelled('seal ab12')}" for nth in range(6))
    return d.AdminDocument(
        (row, msgspec.structs.replace(row, id="bb" * 8, state="waiting", place=2)),
        tuple(filter(None, SECRETS)),
        log,
        812_000_000,
    )
