"""Makes the documents that a season publishes from its store and rounds: for everybody, an author, or the organiser."""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from host.base.format import counted, day
from host.base.safe_text import escape_control_chars, one_line
from host.bots.bot_spec import UNITLESS_LIMITS, format_limit
from host.journal.reader import Journal
from host.season.documents import (
    AdminDocument,
    BotDocument,
    FaultRow,
    LadderDocument,
    MeetingRow,
    Opponent,
    PublishedRound,
    RoundRow,
    SiteDocument,
    SubmissionRow,
    VersionRow,
    report_of,
)
from host.season.entries.queue import Place
from host.season.entries.store import Store
from host.season.entries.values import Submission, Version
from host.season.folder import SeasonFolder
from host.season.rounds.book import Round
from host.season.rounds.chain import NOTICES
from host.season.rounds.ladder import Listed
from host.season.rounds.play import reading_round
from host.season.rounds.scheduler import SLOW_COST
from host.season.rounds.season import Season

SHOWN_EVENTS, SHOWN_NOTICES, SHOWN_FAULTS = 200, 20, 50


# What everybody may see.


def site_document(season: Season, begun: int, next_round: float | None) -> SiteDocument:
    """Return the document about the season as a whole.

    `begun` is the number of the last round that has begun (0: none). `next_round` is the earliest time of the next
    round, in seconds since 1970.
    """
    game, terms = season.tournament.game, season.terms
    versions = season.entered()
    rules = {key: _words(value) for key, value in season.tournament.rules._asdict().items() if value != ()}
    return SiteDocument(
        name=season.tournament.name,
        game=game.name,
        title=game.title,
        state=season.state,
        submissions="anybody" if terms.submissions == "anybody" else "invited",
        freeze=terms.freeze or season.closes,
        final=terms.final or None,
        round=begun,
        next_round=next_round,
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
    )


def limits_in_words(season: Season) -> dict[str, str]:
    """Return the limits of bots and of authors in words, by names such as "bot: move" and "author: file"."""
    granted, limits = season.tournament.limits.by_name(), season.terms.author_limits
    bots = {key: str(value) if key in UNITLESS_LIMITS else format_limit(value) for key, value in granted.items()}
    return {f"bot: {key}": value for key, value in bots.items()} | {
        "author: waiting": counted(limits.queue, "submission"),
        "author: in an hour": counted(limits.per_hour, "submission"),
        "author: file": format_limit(limits.size),
        "author: versions": counted(limits.versions, "version"),
        "author: processor time in an hour": counted(limits.cpu_minutes, "minute"),
        "author: playing": counted(limits.active, "version"),
    }


def notices(season: Season) -> tuple[str, ...]:
    """Return a sentence for each of the last public events, for example a change by the organiser, newest last."""
    found = season.store.events.last(SHOWN_NOTICES, *NOTICES)
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


def published_round(which: Round, report: str | None) -> PublishedRound:
    """Return a round with its meetings. Until the round is finished, the meetings have no wins and no faults.

    `report` is the path of its report below published/: None if the report is not made yet, empty if there will be
    none.
    """
    sums = which.counted
    shown = (MeetingRow(labels=each.labels, tables=each.tables, won=(), faults=()) for each in which.meetings)
    met = sums.meetings if sums else tuple(shown)
    return PublishedRound(which.number, row_of(which), met, report)


def listed(season: Season) -> list[Listed]:
    """Return all versions as the ladder lists them. The note of a version that does not play says why."""
    versions, faults = season.store.versions.all(), season.totals.faults
    tried, entered = Counter(version.bot for version in versions), {version.label for version in season.entered()}
    late = season.late()
    return [
        Listed(
            label=version.label,
            bot=version.bot,
            number=version.number,
            author=version.author,
            language=version.language,
            faults=faults.get(version.label, 0),
            tried=tried[version.bot],
            note="" if version.label in entered else note_of(season, version, late) or "does not play now",
        )
        for version in versions
    ]


def with_authors(store: Store, ladder: LadderDocument) -> LadderDocument:
    """Return a ladder with the present names of the authors. An author may have been renamed after the round."""
    authors = {version.bot: version.author for version in store.versions.all()}
    rows = (msgspec.structs.replace(row, author=authors.get(row.bot, row.author)) for row in ladder.rows)
    return msgspec.structs.replace(ladder, rows=tuple(rows))


# Bots and versions.


class VersionRows:
    """Makes the public row of each version: its results in all rounds, and the reason if it does not play."""

    def __init__(self, season: Season, rounds: Sequence[Round]) -> None:
        self._season, self._late = season, season.late()
        self._tables = season.totals.sums.tables
        self._rated = {row.label: row for row in season.ladder.rows} if season.ladder else {}
        self._costs = {player.label: player.cost for player in rounds[-1].players} if rounds else {}

    def of(self, version: Version) -> VersionRow:
        """Return the public row of a version."""
        note = note_of(self._season, version, self._late)
        rated, cost = self._rated.get(version.label), self._costs.get(version.label, 1.0)
        return VersionRow(
            label=version.label,
            number=version.number,
            sha256=version.sha256,
            language=version.language,
            entered=version.entered,
            active=version.active and not note,
            rating=rated.rating if rated else None,
            interval=rated.interval if rated else None,
            tables=self._tables.get(version.label, 0),
            faults=self._season.totals.faults.get(version.label, 0),
            note=note,
            slow=f"plays fewer tables, because one takes {cost:.0f} times as long as usual"
            if cost >= SLOW_COST
            else "",
        )


def note_of(season: Season, version: Version, late: Collection[str]) -> str:
    """Return why a version cannot play, as everybody may read it; empty if nothing prevents it.

    The text does not mention that the author has chosen another version.
    """
    notes = [version.off_ladder and f"off the ladder: {version.off_ladder.partition(':')[0]}"]
    notes += ["handed in after entry had closed: kept, not entered"] if version.label in late else []
    if why := season.store.submissions.withdrawn(version.bot):
        notes.append(f"withdrawn: {why}")
    return "; ".join(filter(None, notes))


def bot_documents(season: Season, rounds: Sequence[Round], authors: Collection[str]) -> Iterator[BotDocument]:
    """Yield a document for each bot of some authors: its versions, and the opponents of the version that plays."""
    own, rows, met = defaultdict[str, list[Version]](list), VersionRows(season, rounds), season.totals.opponents()
    for version in season.store.versions.all():
        if version.author in authors:
            own[version.bot].append(version)
    for bot, versions in own.items():
        newest = sorted(versions, key=lambda each: -each.number)
        playing = next((each for each in newest if each.active), newest[0])
        yield BotDocument(
            bot=bot,
            author=newest[0].author,
            versions=tuple(map(rows.of, newest)),
            opponents=tuple(Opponent(*each) for each in met.get(playing.label, ())),
            replays=replays_of(rounds, playing.label, season.folder),
        )


def replays_of(rounds: Sequence[Round], label: str, folder: SeasonFolder) -> tuple[int, ...]:
    """Return the numbers of the rounds with a report among the last 10 rounds of a version, newest first."""
    played = [each.number for each in reversed(rounds) if each.counted and label in each.counted.tables]
    return tuple(each for each in played[:10] if (folder.published / report_of(each)).exists())


# What one author may see.


def submission_row(submission: Submission, places: Mapping[str, Place]) -> SubmissionRow:
    """Return the row of a submission for its author. `places` has the places in the queue by submission id."""
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
        author=submission.author,
    )


def start_faults(versions: Sequence[Version]) -> tuple[FaultRow, ...]:
    """Return one row for each version that no longer starts, with the reason as its detail."""
    said = [(version.label, version.off_ladder.partition(": ")[2]) for version in versions]
    return tuple(
        FaultRow(label, "before a round", "start", _text(why.encode()), "", "", "") for label, why in said if why
    )


def own_faults(season: Season, versions: Sequence[Version], rounds: Sequence[Round]) -> tuple[FaultRow, ...]:
    """Return up to SHOWN_FAULTS faults of some versions with their evidence. The newest round comes first.

    Within a round the versions take turns, so that none hides the faults of another. The last fault of each version
    comes first.
    """
    wanted, found = {version.label for version in versions}, list[FaultRow]()
    for which in reversed(rounds):
        mine = wanted & {label for label, faults in (which.counted.faults if which.counted else {}).items() if faults}
        if not mine:
            continue
        with reading_round(season.folder.round(which.number), season.tournament) as journal:
            of_versions = [_last_faults(journal, which.number, label) for label in sorted(mine)]
        found += (row for turn in zip_longest(*of_versions) for row in turn if row is not None)
        if len(found) >= SHOWN_FAULTS:
            break
    return tuple(found[:SHOWN_FAULTS])


def _last_faults(journal: Journal, number: int, label: str) -> list[FaultRow]:
    """Return up to SHOWN_FAULTS faults of a version in the round with this number, the last one first."""
    evidence = deque(journal.evidence("WHERE bot = ? AND fault.kind != 'slowest'", (label,)), SHOWN_FAULTS)
    return [
        FaultRow(
            label=label,
            where=f"round {number}, {path}, table {piece.table}",
            kind=str(piece.kind),
            detail=_text(piece.detail.encode()),
            question=_text(piece.question),
            answer=_text(piece.raw),
            stderr=_text(piece.stderr),
        )
        for _, path, piece in reversed(evidence)
    ]


def _text(data: bytes) -> str:
    """Return bytes from a bot as text, at most the last 4000, with control characters escaped."""
    return "\n".join(escape_control_chars(line) for line in data[-4000:].decode(errors="replace").split("\n"))


# What the organiser may see.


def admin_document(season: Season, places: Mapping[str, Place], disk_bytes: int) -> AdminDocument:
    """Return the document for the organiser. `places` has the places in the queue by submission id."""
    store = season.store
    log = [f"{day(each.at)} {each.kind}: {each.subject} {each.text}" for each in store.events.last(SHOWN_EVENTS)]
    return AdminDocument(
        queue=tuple(submission_row(each, places) for each in store.submissions.open()),
        authors=tuple(author.name for author in store.authors.all()),
        log=tuple(map(one_line, log)),
        disk_bytes=disk_bytes,
        url=season.terms.address or season.url,
    )
