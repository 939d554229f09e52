"""Pazaak games a minute that `croupier verify` puts through the rules again, on one core, beside the bare rules.

    python benchmarks/verify.py [--rounds 5] [--tables 10000]

A friendly game of two C bots is played and journalled; then the whole audit (seals, answers, scores, results, faults,
evidence) and the bare engine, which is given the same answers ready in memory, take turns. Processor time is counted, so
that a busy machine matters little; medians and their ratio are printed. The floor that is promised: 100 000 a minute.
"""

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import trio

from host.backends.local import processes, usable_cores
from host.cli.progress import Quiet
from host.games import GAMES
from host.games.engine import Table
from host.inspect.recorded import RecordedFixture, load_fixture, seed_of
from host.inspect.verify import verify
from host.sandbox.detect import require_level
from host.sandbox.levels import DEFAULT_LEVEL
from host.sandbox.limits import Limits
from host.submissions.discovery import load_submission
from host.submissions.sample_bots import sample
from host.tournament import adhoc
from host.tournament.journal import Journal, reading
from host.tournament.stages.adhoc import Adhoc

GAME = GAMES["pazaak"]


def a_minute(tables: int, seconds: float) -> float:
    """Return tables a minute."""
    return tables / seconds * 60


def audit(journal: Journal) -> float:
    """Return the games a minute of the whole audit."""
    began = time.process_time()
    tables, differences, *_ = verify(journal)
    assert not differences
    return a_minute(tables, time.process_time() - began)


def bare(fixtures: list[RecordedFixture]) -> float:
    """Return the games a minute of the rules alone."""
    tables, began = 0, time.process_time()
    for what in fixtures:
        for sitting, given, scores in zip(what.sittings, what.answers, what.record.scores, strict=True):
            assert Table(GAME, sitting.rules, sitting.shuffler(what.seed), given).scores == tuple(scores)
            tables += 1
    return a_minute(tables, time.process_time() - began)


def main() -> None:
    """Play, then measure by turns."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tables", type=int, default=10_000)
    said = parser.parse_args()
    submissions = [load_submission(sample(name, "pazaak")).with_keys(game="pazaak") for name in ("neptr", "glaucus")]
    terms = adhoc.AdhocRules(
        GAME, GAME.presets["thread"], submissions, "verify", require_level(DEFAULT_LEVEL), Limits()
    )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "play.sqlite"
        trio.run(adhoc.played, terms, Adhoc(tables=said.tables), place, processes, usable_cores(), Quiet())
        with reading(place) as journal:
            fixtures = [load_fixture(journal, seed_of(journal), path) for path in journal.paths()]
            answers = sum(len(given) for what in fixtures for given in what.answers)
            rounds = [(audit(journal), bare(fixtures)) for _ in range(said.rounds)]
    whole, rules = (median(column) for column in zip(*rounds, strict=True))
    print(f"{said.tables:,} games, {answers / said.tables:.1f} answers each, {said.rounds} rounds")
    print(f"bare rules {rules:>10,.0f} games a minute of processor time")
    print(f"verify     {whole:>10,.0f} games a minute, {whole / rules:.2f} of the bare rules")


if __name__ == "__main__":
    main()
