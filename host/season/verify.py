"""Verifies a season: the list of every round, the scores of every table, the seals, and the seeds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from host.base.errors import UserError
from host.base.format import counted, plural, thousands
from host.base.safe_text import one_line
from host.config.tournament_config import Tournament
from host.inspect.source_replay import prepared_game
from host.inspect.verify import Audit, only_told_text, verify
from host.journal.reader import Journal
from host.journal.tournament_dir import commitment
from host.season.entries.store import Store
from host.season.folder import SeasonFolder, round_root
from host.season.rounds.book import Book, Round, SeasonTotals
from host.season.rounds.play import MEETINGS, read_round, reading_round
from host.season.rounds.season import Season, ladder_in
from host.season.rounds.verify_rounds import PlannedRound, first_difference
from host.season.verify_chain import SealedSeason, ladder_differences
from host.stages.pairs import ListedMeeting


class SeasonAudit(NamedTuple):
    """The result of verifying a season: the numbers of checked rounds and tables, and all differences in order."""

    rounds: int
    tables: int  # tables whose recorded answers were played again
    only_told: int  # tables of which only the transcript and the sums were checked
    why_told: str  # why the first of them could not be played again
    reduced: tuple[int, ...]  # rounds whose answers have been removed: their seals, results and lists were checked
    damaged: tuple[int, ...]  # rounds that do not count
    lines: int  # of the chain; 0: an older croupier has opened the season, and it has none yet
    ladder: int  # the round after which the ladder was computed again; 0: there is none
    seeds: bool  # whether the season's own seed is here, so that every round's seed could be derived again
    differences: tuple[str, ...]
    share: float  # of the tables that were to be played again, 0 to 1

    def json(self) -> dict[str, Any]:
        """Return the result as JSON keys."""
        return {
            "rounds": self.rounds,
            "tables": self.tables,
            "only_transcripts": self.only_told,
            "reduced": [*self.reduced],
            "damaged": [*self.damaged],
            "lines": self.lines,
            "ladder": self.ladder or None,
            "seeds": self.seeds,
            "differences": [*self.differences],
        }

    def text(self) -> Iterator[str]:
        """Yield the result as lines."""
        sample = f", drawn at random ({self.share:.3%} of all)" if self.share < 1 else ""
        if self.differences:
            number = f"{len(self.differences)} {plural(len(self.differences), 'difference')}"
            yield f"{number} in {counted(self.rounds, 'round')}; the first: {self.differences[0]}"
            yield from (f"  {difference}" for difference in self.differences[1:20])
            return
        yield f"{counted(self.rounds, 'round')}: every list follows from the rounds before it"
        yield f"{thousands(self.tables)} tables{sample}: every recorded answer gives the recorded score"
        if self.only_told:
            yield only_told_text(self.only_told, self.why_told)
        if self.ladder:
            yield f"the ladder after round {self.ladder} follows from the journals"
        if self.seeds and self.lines:
            yield f"{counted(self.lines, 'line')} of the chain: the season is what it has sealed"
        if self.seeds:
            yield "every round was dealt from the seed that the season has committed to"
        if self.reduced:
            yield f"{counted(len(self.reduced), 'round')} without answers, which were removed: seals and results agree"
        if self.damaged:
            yield f"not counted, because damaged: {', '.join(map(str, self.damaged))}"


def verify_season(place: Path, tournament: Tournament, share: float = 1.0, seal: str = "") -> SeasonAudit:
    """Verify all rounds that are over, the ladder and the chain.

    `share` is the part of the tables to play again, 0 to 1. `seal` is a published seal of the chain; empty: none is
    known. Raise UserError if the store cannot be read.
    """
    folder = SeasonFolder(place)
    found = list[str]()
    seed = _seed(folder, found)
    with Store.reading(folder.path) as store, store.snapshot():  # a season that is open goes on meanwhile
        rounds, chain, ladder = Book(store).rounds(), SealedSeason(store, seal), ladder_in(store)
        versions = {version.label for version in store.versions.all()}
        if seed is not None and not chain.differences:
            season = Season(folder, tournament, store)
            season.final_over = True  # the final may be on another machine
            chain.differences += chain.compare(season, rounds)
    if wrong := first_difference(_planned(rounds)):
        found.append(wrong)
    checks = {each.number: RoundCheck(folder, tournament, each, seed) for each in rounds if each.state == "finished"}
    for number, check in checks.items():
        found += [f"round {number}: {difference}" for difference in check.differences(share)]
    if ladder:
        counted = [each._replace(sums=checks[each.number].sums) if each.number in checks else each for each in rounds]
        found += ladder_differences(ladder, counted, versions)
    found += chain.differences
    return SeasonAudit(
        rounds=len(rounds),
        tables=sum(check.audit.tables for check in checks.values()),
        only_told=sum(check.audit.only_told for check in checks.values()),
        why_told=next((check.audit.why_told for check in checks.values() if check.audit.why_told), ""),
        reduced=tuple(number for number, check in checks.items() if check.audit.reduced),
        damaged=tuple(each.number for each in rounds if each.state == "damaged"),
        lines=len(chain.lines),
        ladder=ladder.round if ladder else 0,
        seeds=seed is not None,
        differences=tuple(found),
        share=share,
    )


def _seed(folder: SeasonFolder, found: list[str]) -> bytes | None:
    """Return the seed of the season; None if the seed is missing, or if the seed or the commitment cannot be read.

    Add a sentence to `found` if the seed or the commitment cannot
    be read, or if the seed is not the one that the season has committed to.
    """
    if not folder.seed_file.exists():
        return None
    try:
        seed, promised = folder.seed(), folder.committed()
    except UserError as refused:
        found.append(refused.problems[0].message)
        return None
    if commitment(seed) != promised.sha256:
        found.append("the seed is not the one that was committed to when the season opened")
    return seed


def _planned(rounds: list[Round]) -> Iterator[PlannedRound]:
    """Yield each round with the sums of all rounds before it, from which the scheduler planned it."""
    totals = SeasonTotals()
    for each in rounds:
        yield PlannedRound(each.players, totals.sums, each.terms, each.meetings)
        totals.add(each)


class RoundCheck:
    """Checks one round that is over."""

    def __init__(self, folder: SeasonFolder, tournament: Tournament, which: Round, seed: bytes | None) -> None:
        self._tournament, self._which, self._seed = tournament, which, seed
        self._place = folder.round(which.number)
        self.audit = Audit(0, [])
        """The result of playing the recorded answers again; empty if the journal cannot be read."""
        self.sums = which.sums
        """The sums that follow from the journal; the stored sums of the season if the journal cannot be read."""

    def differences(self, share: float) -> Iterator[str]:
        """Yield a sentence for each error in the round.

        It may be in the seed, the list of meetings, the journal, or the sums that the season has stored of the round.
        `share` is the part of the tables to play again, 0 to 1.
        """
        which = self._which
        if self._seed is not None and round_root(self._seed, which.number).hex() != which.seed:
            yield "its seed does not follow from the seed of the season"
        try:
            yield from self._list()
            with reading_round(self._place, self._tournament) as journal:
                yield from self._journal(journal, share)
            yield from self._sums()
        except UserError as refused:
            yield f"{one_line(refused.problems[0].where)}: {refused.problems[0].message}"
        except (OSError, ValueError) as broken:
            yield f"cannot be read: {one_line(str(broken))}"

    def _list(self) -> Iterator[str]:
        """Yield a difference if the list in the folder is not the list that the scheduler has planned."""
        listed = [ListedMeeting.parse(line) for line in (self._place / MEETINGS).read_text().splitlines()]
        if [(each.bots, each.tables) for each in listed] != [
            (each.labels, each.tables) for each in self._which.meetings
        ]:
            yield "the list in its folder is not the one of the scheduler"

    def _journal(self, journal: Journal, share: float) -> Iterator[str]:
        """Yield a sentence for each difference between the journal and its seal, its seed or its recorded answers.

        If the answers have been removed, no table is played again: only seals and results are checked.
        """
        which, game = self._which, None if journal.reduced else prepared_game(journal)
        if journal.seal() != which.seal:
            yield "the seal of its journal is not the one that was published"
        if journal.state().seed_sha256 != commitment(bytes.fromhex(which.seed)):
            yield "it was not played with its seed"
        self.audit = verify(journal, share, seed=bytes.fromhex(which.seed), prepared=game)
        yield from self.audit.differences

    def _sums(self) -> Iterator[str]:
        """Compute the sums from the journal again, and yield a difference for each stored sum that is not equal."""
        counted, again = self._which.counted, read_round(self._place, self._tournament).sums
        self.sums = again
        if counted is None:
            return
        for key in ("orders", "tables", "faults", "crashed", "meetings"):
            if getattr(counted, key) != getattr(again, key):
                yield f"what the season counts of it differs from its journal in {key}"
