"""Measure how many Pazaak games per minute `croupier verify` checks on one core, compared with the bare rules.

    python benchmarks/verify.py [--rounds 5] [--tables 10000]

Two C bots play games that are journalled. Then the whole verification (seals, answers, scores, results, faults, evidence)
and the bare engine with the same answers in memory take turns. CPU time is measured, so other programs have little effect.
Prints medians and their ratio. The target is at least 100 000 games per minute.
"""

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import trio

from host.backends.local import local_workers
from host.backends.placement import usable_cores
from host.cli.progress import Quiet
from host.games import GAMES
from host.games.engine import Table
from host.inspect.recorded import RecordedFixture, load_fixture, root_of
from host.inspect.verify import verify
from host.journal.reader import Journal, reading
from host.sandbox.detect import require_level
from host.sandbox.levels import DEFAULT_LEVEL
from host.sandbox.limits import Limits
from host.stages.adhoc import Adhoc
from host.submissions.discovery import load_submission
from host.submissions.sample_bots import sample
from host.tournament import adhoc

GAME = GAMES["pazaak"]


def a_minute(tables: int, seconds: float) -> float:
    """Return tables per minute."""
    return tables / seconds * 60


def audit(journal: Journal) -> float:
    """Return the games per minute of the whole verification."""
    began = time.process_time()
    tables, differences, *_ = verify(journal)
    assert not differences
    return a_minute(tables, time.process_time() - began)


def bare(fixtures: list[RecordedFixture]) -> float:
    """Return the games per minute of the rules alone."""
    tables, began = 0, time.process_time()
    for what in fixtures:
        for sitting, given, scores in zip(what.sittings, what.answers, what.record.scores, strict=True):
            assert Table(GAME, sitting.rules, sitting.shuffler(what.seed), given).scores == tuple(scores)
            tables += 1
    return a_minute(tables, time.process_time() - began)


def main() -> None:
    """Play, then measure in turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tables", type=int, default=10_000)
    said = parser.parse_args()
    submissions = [load_submission(sample(name, "pazaak")).with_keys(game="pazaak") for name in ("neptr", "glaucus")]
    terms = adhoc.AdhocSettings(
        GAME,
        GAME.presets["thread"],
        Adhoc(tables=said.tables),
        submissions,
        "verify",
        require_level(DEFAULT_LEVEL),
        Limits(),
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "play.sqlite"
        trio.run(adhoc.played, terms, place, local_workers, usable_cores(), Quiet())
        with reading(place) as journal:
            fixtures = [load_fixture(journal, root_of(journal), path) for path in journal.paths()]
            answers = sum(len(given) for what in fixtures for given in what.answers)
            rounds = [(audit(journal), bare(fixtures)) for _ in range(said.rounds)]
    whole, rules = (median(column) for column in zip(*rounds, strict=True))
    print(f"{said.tables:,} games, {answers / said.tables:.1f} answers each, {said.rounds} rounds")
    print(f"bare rules {rules:>10,.0f} games a minute of processor time")
    print(f"verify     {whole:>10,.0f} games a minute, {whole / rules:.2f} of the bare rules")


if __name__ == "__main__":
    main()
