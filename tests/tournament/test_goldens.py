"""Small tournaments of every game, stage kind and protocol end as tests/goldens says, one or many tables at a time.

Each bot is tests/goldens/player.c: its answers and its faults depend only on the question. There is one golden file per
game, because the results depend neither on the protocol nor on the number of parallel tables. After an intended change
of results, write the goldens again and review the difference:

    CROUPIER_WRITE_GOLDENS=1 python -m pytest tests/tournament/test_goldens.py
"""

import hashlib
import json
import os
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command import answers_in, croupier
from helpers import breadth

GOLDENS = Path(__file__).parents[1] / "goldens"
DIGITS = 12  # of a number in a golden: the last digits of a sum depend on the order of its parts
COLUMNS = (
    *("rank", "bot", "tables", "wins", "points", "rate", "score", "low", "high", "score_low", "score_high"),
    *("benched", "faults_by_kind"),
)


class Player(NamedTuple):
    """How one bot is made: it fails once in `one_in` answers; the other fields are those of its bot.toml."""

    fault: str = "none"
    one_in: int = 0
    uses_seed: int = 0
    parallel_tables: int = 64
    table_ids: bool = False


PLAYERS = {
    "alpha": Player(),
    "beta": Player(uses_seed=1, table_ids=True),
    "gamma": Player("illegal", 12, parallel_tables=16),
    "delta": Player("unreadable", 15, uses_seed=1),
    "epsilon": Player("exit", 20, table_ids=True),
    "zeta": Player("crash", 20, parallel_tables=1),
    "eta": Player("extra", 25, parallel_tables=1),  # the question that is charged depends on them
    "theta": Player("flood", 40, uses_seed=1, parallel_tables=8),
    "iota": Player("exception", 20, table_ids=True),
}
STAGES = {
    "cardshark": """
        [[stage]]
        name = "tables"
        kind = "mixed-tables"
        tourneys = 3
        rounds = 2
        practice = true
    """,
    "pazaak": """
        [[stage]]
        name = "league"
        kind = "round-robin"
        tables_per_pair = 2
        practice = true
        [[stage]]
        name = "bracket"
        kind = "knockout"
        set = 2
        first_to = 1
        practice = true
    """,
    "holdem": """
        [[stage]]
        name = "groups"
        kind = "groups"
        advance = 2
        practice = true
        [[stage]]
        name = "final"
        kind = "groups"
        advance = 1
        repeat = 3
        practice = true
    """,
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the program of all bots."""
    path = tmp_path_factory.mktemp("player") / "player"
    subprocess.run(["cc", "-O2", "-o", path, GOLDENS / "player.c"], check=True)
    return path


def write_tournament(folder: Path, program: Path, game: str, protocol: str, parallel_tables: int) -> None:
    """Write a tournament with all players."""
    lives = protocol != "argv"
    for name, player in PLAYERS.items():
        place = folder / "bots" / name
        place.mkdir(parents=True)
        shutil.copy2(program, place / "player")
        table_ids = str(int(player.table_ids and lives))
        fault = [player.fault, str(player.one_in)]
        words = ["./player", name, game, protocol, table_ids, *fault, str(player.uses_seed)]
        lines = ['language = "any"', f'protocol = "{protocol}"', f"run = {words}"]
        if lives:
            lines += [f"parallel_tables = {player.parallel_tables}", f"table_ids = {str(player.table_ids).lower()}"]
        (place / "bot.toml").write_text("\n".join(lines) + "\n")
    (folder / "croupier.toml").write_text(
        f'game = "{game}"\nseed = "golden"\n[run]\nparallel_tables = {parallel_tables}\n'
        f'[limits]\nmove = "20 s"\nstartup = "20 s"\ncpu = "20 s"\n{STAGES[game]}'
    )


def result_of(folder: Path, game: str) -> dict[str, Any]:
    """Return the golden of a tournament: its standings, and the results of each fixture with a hash of the answers."""
    fixtures = {}
    for path, (scores, answers, results, faults, benched) in answers_in(folder / "run" / "run.sqlite").items():
        fixtures[path] = {
            "scores": scores,
            "answers": hashlib.sha256(zlib.decompress(answers)).hexdigest()[:16],
            "results": {bot: list(result) for bot, result in results.items()},
            "faults": faults,
            "benched": benched,
        }
    standings = {}
    for stage in [line.split('"')[1] for line in STAGES[game].splitlines() if "name = " in line]:
        rows = croupier("-C", folder, "standings", stage, "--json").json["rows"]
        standings[stage] = [{key: rounded(row[key]) for key in COLUMNS if key in row} for row in rows]
    return json.loads(json.dumps({"standings": standings, "fixtures": fixtures}))


def rounded(value: Any) -> Any:
    """Round a value of the standings to the digits of a golden."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


@pytest.mark.parametrize(
    ("protocol", "parallel_tables"),
    breadth([("lines", 64), ("argv", 1), ("lines", 1), ("json", 64), ("argv", 64), ("json", 1)], 6),
)
@pytest.mark.parametrize("game", STAGES)
@pytest.mark.one_in(2)
def test_a_tournament_ends_as_its_golden_says(
    game: str, protocol: str, parallel_tables: int, program: Path, tmp_path: Path
) -> None:
    write_tournament(tmp_path, program, game, protocol, parallel_tables)
    played = croupier("-C", tmp_path, "run", "--progress", "none", "--workers", 2)
    assert played.code == 0, played.err
    assert croupier("-C", tmp_path, "verify", "--json").json["differences"] == []
    result, golden = result_of(tmp_path, game), GOLDENS / f"{game}.json"
    if os.environ.get("CROUPIER_WRITE_GOLDENS") and (protocol, parallel_tables) == ("argv", 1):
        golden.write_text(json.dumps(result, indent=1) + "\n")
    assert result == json.loads(golden.read_text())
