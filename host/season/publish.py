"""Publishes the documents of a season for its site: what everybody may see, and what one author or the organiser may."""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from host.base.format import counted, day
from host.base.safe_text import escape_control_chars, one_line
from host.base.value_types import plain_name
from host.bots.bot_spec import UNITLESS_LIMITS, format_limit
from host.config.season_config import AuthorLimits
from host.journal.reader import reading
from host.journal.tournament_dir import Folder
from host.rules.catalogue import game_by_name
from host.season.documents import (
    AdminDocument,
    AuthorDocument,
    BotDocument,
    FaultRow,
    LadderDocument,
    MeetingRow,
    Opponent,
    RoundDocument,
    RoundRow,
    RoundsDocument,
    SiteDocument,
    SubmissionRow,
    TokensDocument,
    VersionRow,
)
from host.season.entries.queue import Place
from host.season.entries.values import Submission, Version
from host.season.folder import SeasonFolder, replace_content, write_atomically
from host.season.rounds.book import Round
from host.season.rounds.ladder import Listed
from host.season.rounds.season import Season

LADDER = "ladder.json"
SHOWN_EVENTS, SHOWN_NOTICES, SHOWN_FAULTS = 200, 20, 50
NOTICE_KINDS = (
    "terms",
    "pause",
    "resume",
    "freeze",
    "unfreeze",
    "withdraw",
    "readmit",
    "rename",
    "entries",
    "final",
    "damaged",
)
"""The events that everybody may see."""


class Publisher:
    """Writes the documents below `published/`. A document that has not changed is not written again."""

    def __init__(self, folder: SeasonFolder) -> None:
        self._folder, self._written = folder, dict[str, bytes]()

    def write(self, name: str, document: msgspec.Struct) -> None:
        """Write a document. Only this process and the site, which runs as the same user or group, read private ones."""
        content = msgspec.json.encode(document, enc_hook=plain_name)  # a game of one's own
        path = self._folder.published / name
        if name not in self._written and _content(path) == content:  # it was published before a restart
            self._written[name] = content
        if self._written.get(name) == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        # The ladder has a history that no other file has. The rest is published again when the season opens, and to wait
        # for the disk a hundred times after each round would delay the next one.
        write = write_atomically if name == LADDER else replace_content
        write(path, content, 0o640 if name.startswith("private/") else 0o644)
        self._written[name] = content

    def remove(self, name: str) -> None:
        """Remove a document, if it is published."""
        (self._folder.published / name).unlink(missing_ok=True)
        self._written.pop(name, None)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


class Figures(NamedTuple):
    """What is known of a version from all rounds."""

    tables: int = 0
    faults: int = 0
    rating: float | None = None
    interval: float | None = None


class Now(NamedTuple):
    """What changes from one moment to the next: the rounds, the ladder after the last of them, and the queue."""

    rounds: Sequence[Round]
    ladder: LadderDocument | None
    places: Mapping[str, Place]
    next_round: float | None
    round: int


# What everybody may see.


def publish_site(season: Season, publisher: Publisher, now: Now) -> None:
    """Publish the season as a whole."""
    game, terms = game_by_name(season.tournament.game), season.terms
    versions = season.entered()
    rules = {key: _words(value) for key, value in season.tournament.rules._asdict().items() if value != ()}
    publisher.write(
        "site.json",
        SiteDocument(
            name=season.tournament.name,
            game=game.name,
            title=game.title,
            state=season.state,
            submissions="anybody" if terms.submissions == "anybody" else "invited",
            freeze=terms.freeze or season.closes,
            round=now.round,
            next_round=now.next_round,
            bots=len({version.bot for version in versions}),
            versions=len(season.store.versions.all()),
            waiting=len(season.store.submissions.open()),
            now=season.now,
            active=terms.active,
            limits=limits_in_words(season),
            references=terms.references,
            card=game.card,
            rules=rules,
            seed_sha256=season.folder.committed().sha256,
            notices=notices(season),
            upload_bytes=terms.author_limits.size,
        ),
    )


def limits_in_words(season: Season) -> dict[str, str]:
    """Return the limits of bots and of authors."""
    granted = season.tournament.limits.by_name()
    bots = {key: str(value) if key in UNITLESS_LIMITS else format_limit(value) for key, value in granted.items()}
    authors = quota_in_words(season.terms.author_limits)
    return {f"bot: {key}": value for key, value in bots.items()} | {
        f"author: {key}": value for key, value in authors.items()
    }


def quota_in_words(limits: AuthorLimits) -> dict[str, str]:
    """Return what an author may use, in words."""
    return {
        "waiting": counted(limits.queue, "submission"),
        "in an hour": counted(limits.per_hour, "submission"),
        "file": format_limit(limits.size),
        "versions": counted(limits.versions, "version"),
        "processor time in an hour": counted(limits.cpu_minutes, "minute"),
        "playing": counted(limits.active, "version"),
    }


def notices(season: Season) -> tuple[str, ...]:
    """Return what the organiser has changed or done, the newest last."""
    found = season.store.events.last(SHOWN_NOTICES, *NOTICE_KINDS)
    return tuple(f"{day(event.at)}: {event.subject} {event.text}".strip() for event in found)


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def row_of(which: Round) -> RoundRow:
    """Return a round as a row of the list of rounds."""
    sums = which.counted
    return RoundRow(
        number=which.number,
        state=which.state,
        began=which.began,
        ended=which.ended,
        versions=len(which.players),
        tables=sums.all_tables if sums else sum(each.tables for each in which.meetings),
        faults=sum(sums.faults.values()) if sums else 0,
        uniform=which.terms.uniform,
        seal=which.seal,
        seed=which.seed if which.state == "finished" else "",
        note=which.note,
    )


def publish_rounds(publisher: Publisher, rounds: Sequence[Round]) -> None:
    """Publish the list of all rounds."""
    publisher.write("rounds.json", RoundsDocument(tuple(row_of(each) for each in reversed(rounds))))


def publish_round(publisher: Publisher, which: Round, report: str = "") -> None:
    """Publish a round. While it is played, only who meets whom is shown."""
    sums = which.counted
    met = (
        tuple(MeetingRow(each.labels, each.tables, each.won, each.faults) for each in sums.meetings)
        if sums
        else tuple(MeetingRow(each.labels, each.tables, (), ()) for each in which.meetings)
    )
    publisher.write(f"rounds/{which.number}.json", RoundDocument(row_of(which), met, report))


def published_ladder(folder: SeasonFolder) -> LadderDocument | None:
    """Return the ladder that has been published; None if there is none, or if it is damaged."""
    try:
        return msgspec.json.decode((folder.published / LADDER).read_bytes(), type=LadderDocument)
    except (OSError, msgspec.MsgspecError):
        return None


def listed(season: Season) -> list[Listed]:
    """Return the versions for the ladder. Those that do not play have a note."""
    versions, faults = season.store.versions.all(), season.totals.faults
    tried, entered = Counter(version.bot for version in versions), {version.label for version in season.entered()}
    return [
        Listed(
            label=version.label,
            bot=version.bot,
            number=version.number,
            author=version.author,
            language=version.language,
            faults=faults.get(version.label, 0),
            tried=tried[version.bot],
            note="" if version.label in entered else note_of(season, version) or "does not play now",
        )
        for version in versions
    ]


# Bots and versions.


def figures_of(season: Season, ladder: LadderDocument | None) -> Callable[[str], Figures]:
    """Return a function that returns what is known of a version."""
    tables, faults = season.totals.sums.tables, season.totals.faults
    rated = {row.label: row for row in ladder.rows} if ladder else {}

    def figures(label: str) -> Figures:
        row = rated.get(label)
        rating, interval = (row.rating, row.interval) if row else (None, None)
        return Figures(tables.get(label, 0), faults.get(label, 0), rating, interval)

    return figures


def version_row(season: Season, version: Version, known: Figures) -> VersionRow:
    """Return a version as everybody may see it."""
    note = note_of(season, version)
    return VersionRow(
        label=version.label,
        number=version.number,
        sha256=version.sha256,
        language=version.language,
        entered=version.entered,
        active=version.active and not note,
        rating=known.rating,
        interval=known.interval,
        tables=known.tables,
        faults=known.faults,
        note=note,
    )


def note_of(season: Season, version: Version) -> str:
    """Return why a version that its author has chosen does not play; empty if nothing prevents it."""
    notes = [version.off_ladder and f"off the ladder: {version.off_ladder}"]
    notes += ["handed in after entry had closed: kept, not entered"] if version.label in season.late() else []
    if why := season.store.submissions.withdrawn(version.bot):
        notes.append(f"withdrawn: {why}")
    return "; ".join(filter(None, notes))


def publish_bots(season: Season, publisher: Publisher, now: Now) -> None:
    """Publish every bot with its versions, and the opponents of the version that plays."""
    own, figures, met = defaultdict[str, list[Version]](list), figures_of(season, now.ladder), season.totals.opponents()
    for version in season.store.versions.all():
        own[version.bot].append(version)
    for bot, versions in own.items():
        newest = sorted(versions, key=lambda each: -each.number)
        playing = next((each for each in newest if each.active), newest[0])
        publisher.write(
            f"bots/{bot}.json",
            BotDocument(
                bot=bot,
                author=newest[0].author,
                versions=tuple(version_row(season, each, figures(each.label)) for each in newest),
                opponents=tuple(Opponent(*each) for each in met.get(playing.label, ())),
                replays=replays_of(now.rounds, playing.label, season.folder),
            ),
        )


def replays_of(rounds: Sequence[Round], label: str, folder: SeasonFolder) -> tuple[str, ...]:
    """Return the reports of the last rounds in which a version has played."""
    names = [f"rounds/{each.number}.html" for each in reversed(rounds) if each.counted and label in each.counted.tables]
    return tuple(name for name in names[:10] if (folder.published / name).exists())


# What one author may see.


def publish_author(season: Season, publisher: Publisher, author: str, now: Now, faults: tuple[FaultRow, ...]) -> None:
    """Publish what an author may see, and nobody else."""
    store, figures = season.store, figures_of(season, now.ladder)
    submissions, versions = store.submissions.of_author(author), store.versions.of_author(author)
    answers = store.events.answers(author)
    used, limits = store.used(author, time.time()), season.terms.author_limits
    recent = len(used.recent(time.time()))
    quota = {
        "submissions without a verdict": f"{used.waiting} of {limits.queue}",
        "submissions in the last hour": f"{recent} of {limits.per_hour}",
        "versions": f"{used.versions} of {limits.versions}",
        "processor time in the last hour": f"{used.cpu_seconds(time.time()) / 60:.0f} of {limits.cpu_minutes} minutes",
    }
    publisher.write(
        f"private/authors/{author}.json",
        AuthorDocument(
            author=author,
            submissions=tuple(submission_row(each, now.places) for each in submissions),
            versions=tuple(version_row(season, each, figures(each.label)) for each in versions),
            faults=faults,
            tables=own_files(season.folder, author),
            quota=quota,
            messages=tuple(answer.text for answer in answers[-20:]),
            answers={answer.request: answer for answer in answers},
        ),
    )


def submission_row(submission: Submission, places: Mapping[str, Place]) -> SubmissionRow:
    """Return a submission for its author."""
    place = places.get(submission.id)
    return SubmissionRow(
        id=submission.id,
        bot=submission.bot,
        file_name=submission.file_name,
        sha256=submission.sha256,
        size=submission.size,
        at=submission.at,
        state=str(submission.state),
        reason=place.reason if place else submission.reason,
        place=place.place if place else 0,
        label=submission.label,
        verdict=submission.verdict,
    )


def own_faults(season: Season, labels: Sequence[str], rounds: Sequence[Round]) -> tuple[FaultRow, ...]:
    """Return the last faults of some versions with their evidence, from rounds that are over."""
    wanted, found = {*labels}, list[FaultRow]()
    for which in reversed(rounds):
        mine = wanted & {label for label, faults in (which.counted.faults if which.counted else {}).items() if faults}
        if not mine or len(found) >= SHOWN_FAULTS:
            continue
        with reading(Folder(season.folder.round(which.number)).journal, season.tournament.registry) as journal:
            for label in sorted(mine):
                where = "WHERE bot = ? AND fault.kind != 'slowest'"
                for _, path, piece in journal.evidence(where, (label,)):
                    if len(found) < SHOWN_FAULTS:
                        found.append(
                            FaultRow(
                                label=label,
                                where=f"round {which.number}, {path}, table {piece.table}",
                                kind=str(piece.kind),
                                detail=_text(piece.detail.encode()),
                                question=_text(piece.question),
                                answer=_text(piece.raw),
                                stderr=_text(piece.stderr),
                            )
                        )
    return tuple(found)


def _text(data: bytes) -> str:
    """Return bytes of a bot as text, with control characters escaped, and bounded."""
    return "\n".join(escape_control_chars(line) for line in data[-4000:].decode(errors="replace").split("\n"))


def own_files(folder: SeasonFolder, author: str) -> tuple[str, ...]:
    """Return the files of own tables of an author, the newest first."""
    place = folder.published / "private" / "tables" / author
    return tuple(sorted((f"tables/{author}/{path.name}" for path in place.glob("*.ndjson")), reverse=True))


# What the organiser and the site may see.


def publish_admin(season: Season, publisher: Publisher, now: Now, disk_bytes: int) -> None:
    """Publish what the organiser may see."""
    store = season.store
    log = [f"{day(each.at)} {each.kind}: {each.subject} {each.text}" for each in store.events.last(SHOWN_EVENTS)]
    publisher.write(
        "private/admin.json",
        AdminDocument(
            queue=tuple(submission_row(each, now.places) for each in store.submissions.open()),
            authors=tuple(author.name for author in store.authors.all()),
            log=tuple(map(one_line, log)),
            disk_bytes=disk_bytes,
            url=season.terms.address or season.url,
        ),
    )


def publish_tokens(season: Season, publisher: Publisher, organiser: str) -> None:
    """Publish the hashes of the secrets of all links."""
    known = {author.name: author.token_sha256 for author in season.store.authors.all()}
    publisher.write("private/tokens.json", TokensDocument(known | {"": organiser}))


def bytes_on_disk(folder: Path) -> int:
    """Return the bytes of all files of a folder."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - a Path for each file takes longer
            except OSError:
                continue
    return total
