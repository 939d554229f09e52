"""A game for partners is played in every kind of stage, with the same results on a cluster."""

from pathlib import Path
from typing import Any

import pytest
from command import MEASURED, answers_in, croupier, croupier_process
from helpers import level
from machines import machines

from host.stages import KINDS

pytestmark = pytest.mark.skipif(not level().traits.isolates, reason="NO SANDBOX HERE")

GAME = '''\
"""Two to five pairs: each seat says a number, and the best pair gets a chip of each other pair that has one."""

import re
from typing import NamedTuple

from host.games.engine import Game, Opening, Request
from protocols.wire import Grammar, Move


class Rules(NamedTuple):
    """`seats` counts bots; each has two seats."""

    seats: int = 3
    chips: int = 4
    buy_in: int = 1
    stacks: tuple[int, ...] = ()


class View(NamedTuple):
    """The seat, a number of luck, and the number that the partner has said."""

    seat: int
    luck: int
    partner: int


def sides(rules):
    return [(bot, bot + rules.seats) for bot in range(rules.seats)]


def play(rules, luck, tell=None):
    stacks, said = list(rules.stacks or [rules.chips] * rules.seats), [0] * rules.seats
    for half in (0, 1):
        seats = [half * rules.seats + bot for bot in range(rules.seats)]
        answers = yield [Request(seat, View(seat, luck.below(9), said[seat % rules.seats])) for seat in seats]
        for bot, answer in enumerate(answers):
            said[bot] += answer.n % 10 if isinstance(answer, Move) else 0
    best = max(range(rules.seats), key=lambda bot: (said[bot], bot))
    for bot in range(rules.seats):
        if bot != best and stacks[bot]:
            stacks[bot] -= 1
            stacks[best] += 1
    return tuple(stacks)


def winners(scores):
    return () if min(scores) == max(scores) else tuple(bot for bot, score in enumerate(scores) if score == max(scores))


GAME = Game(
    name="pairs", title="Pairs", seats=(2, 5), protocol="lines", presets={"usual": Rules()},
    grammar=Grammar(re.compile("(?P<n>[0-9]{1,3})"), "a number", verb="SAY"), play=play,
    allows=lambda rules, view, move: True, winners=winners, view=View, edges={"the first": View(0, 1, 0)},
    opening=Opening("luck", 5, below="1", otherwise="2"), card="Say a number.", chips="tourney", sides=sides,
)
'''
BOT = """\
#!/bin/bash
while read -r seat luck partner; do echo $(( (luck * FACTOR + seat + partner + CROUPIER_SEED % 7) % 10 )); done
"""
STAGES = {
    "pairs": 'meetings = ["4 bot0 / bot1", "2 bot2 / bot3", "3 bot4 / bot0 / bot3"]',
    "league": "tables = 6",
    "swiss": "tables_per_pairing = 2\nrounds = 2",
    "round-robin": "tables_per_pair = 2",
    "knockout": 'set = 2\nbest_of = 1\nelimination = "double"\nplaces = "first"\nmin_bots = 4',
    "gauntlet": 'references = ["bots/bot2.sh"]\ntables = 2',
    "groups": "repeat = 1\nadvance = 1",
    "mixed-tables": "tourneys = 2\nrounds = 2",
}
BOTS = 5


def cup(folder: Path) -> Path:
    """Write a tournament that has every kind of stage."""
    (folder / "bots").mkdir(parents=True)
    (folder / "pairs.py").write_text(GAME)
    for number in range(BOTS):
        file = folder / "bots" / f"bot{number}.sh"
        file.write_text(BOT.replace("FACTOR", str(number + 1)))
        file.chmod(0o755)
    stages = "".join(
        f'[[stage]]\nkind = "{kind}"\nname = "{kind}"\npractice = true\n{keys}\n\n' for kind, keys in STAGES.items()
    )
    (folder / "croupier.toml").write_text(f'game = "pairs:GAME"\nbots = ["bots/*"]\nseed = "for tests"\n\n{stages}')
    return folder


def result(folder: Path) -> Any:
    """Return the standings of every stage, and every answer."""
    rows = [croupier("-C", folder, "standings", stage, "--json").json["rows"] for stage in STAGES]
    kept = [[{key: value for key, value in row.items() if key not in MEASURED} for row in table] for table in rows]
    return kept, answers_in(folder / "run" / "run.sqlite")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tournament after one worker has played it."""
    folder = cup(tmp_path_factory.mktemp("partners") / "one")
    done = croupier("-C", folder, "run", "--progress", "none", "--workers", 1)
    assert done.code == 0, done.err
    return folder


@pytest.mark.long
def test_partners_play_in_every_kind_of_stage(played: Path) -> None:
    assert {*STAGES} == {*KINDS} - {"solo"}
    for stage, table in zip(STAGES, result(played)[0], strict=True):
        ranked = {row["bot"] for row in table}
        assert len(ranked) == BOTS - (stage == "gauntlet") and all(row["faults"] == 0 for row in table), stage
    assert {table.partition("/")[0] for table in result(played)[1]} == {*STAGES}
    assert croupier("-C", played, "verify").code == 0


@pytest.mark.proof
def test_a_cluster_has_the_same_results(played: Path, tmp_path: Path) -> None:
    folder = cup(tmp_path / "cluster")
    with machines("alice", "bob") as standing:
        done = croupier_process("-C", folder, "run", "--progress", "none", "--cluster", standing.address)
    assert done.code == 0, done.err
    assert result(folder) == result(played)
