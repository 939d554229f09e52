"""Two tournaments with code of the same names are open in one process, and each uses its own."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from command import ROOT, croupier

from host.backends.backend import open_backend
from host.cli.progress import progress_view
from host.config.tournament_config import load
from host.inspect.verify import verify
from host.journal.reader import reading
from host.rating.rankings import ranking_of
from host.stages import kind_of
from host.tournament.running import RunOptions, run_tournament

CONFIG = """\
game = "mine:GAME"
seed = "a public seed"
bots = ["bots/*"]

[[stage]]
kind = "stages.mine:LADDER"
rounds = 1
tables = 20
rank_by = ["stages.mine:WORST", "win_rate"]
practice = true
"""
BOT = """\
import sys

for line in sys.stdin:
    print("{}", flush=True)
"""


def page(name: str, file: str) -> str:
    """Return a file that a page of docs/ shows in one or several blocks."""
    text = (ROOT / "docs" / name).read_text()
    return "\n\n".join(re.findall(rf"^```\w+ {re.escape(file)}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def laid_out(folder: Path, winner: str, first: int) -> Path:
    """Write a tournament with a game, a kind and a ranking of its own, of the same names in every folder.

    The `winner` of a prize is the higher or the lower bid; the rounds are counted from `first`.
    """
    game = page("adding-a-game.md", "goofspiel.py").replace("import re\n", "import re\nfrom who import TAKERS\n", 1)
    game = game.replace("0 if bids[0] > bids[1] else 1", "TAKERS[bids[0] > bids[1]]")
    stage = page("adding-a-stage.md", "ladder.py").replace('title="worst result"', f'title="worst of {winner}"')
    stage = stage.replace("{stage.name}/{number}/", f"{{stage.name}}/{{number + {first - 1}}}/")
    files = {
        "croupier.toml": CONFIG,
        "mine.py": game,
        "who.py": f"TAKERS = {(1, 0) if winner == 'high' else (0, 1)}\n",
        "stages/mine.py": stage,
        "bots/low.py": BOT.format("LOW"),
        "bots/high.py": BOT.format("HIGH"),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """Return the folders of two tournaments that were played at the same time: the high bid wins, the low bid wins."""
    place = tmp_path_factory.mktemp("both")
    high, low = laid_out(place / "one", "high", 1), laid_out(place / "other", "low", 11)

    async def run() -> None:
        with progress_view("none") as view:
            async with trio.open_nursery() as nursery:
                for folder in (high, low):
                    nursery.start_soon(run_tournament, folder, view, open_backend, RunOptions())

    trio.run(run)
    return high, low


def test_each_is_loaded_with_its_own_code(both: tuple[Path, Path]) -> None:
    one, other = map(load, both)
    assert one.game.name == other.game.name == "goofspiel"
    assert one.game.play is not other.game.play
    (stage,), (its,) = one.stages, other.stages
    assert stage.kind == its.kind == "ladder" and stage.rank_by == its.rank_by == ("worst", "win_rate")
    assert kind_of(stage).schedule is not kind_of(its).schedule
    assert [ranking_of(each.rank_by[0]).title for each in (stage, its)] == ["worst of high", "worst of low"]


def test_each_is_ranked_and_replayed_by_its_own_code(both: tuple[Path, Path]) -> None:
    for command in ("standings", "standings", "replay"):
        found = {}
        for folder, winner, number in zip(both, ("high", "low"), (1, 11), strict=True):
            done = croupier("-C", folder, command, *(["last"] if command == "replay" else []))
            assert done.code == 0, done.err
            found[winner] = done.out
            assert command == "replay" or f"worst of {winner}" in done.out
            assert command == "standings" or f"ladder/{number}/high+low" in done.out
        assert found["high"] != found["low"]


def test_each_page_shows_its_own_ranking(both: tuple[Path, Path]) -> None:
    for folder, winner in zip(both, ("high", "low"), strict=True):
        done = croupier("-C", folder, "report")
        assert done.code == 0, done.err
        assert f"worst of {winner}" in (folder / "report.html").read_text()


def test_each_is_verified_by_its_own_code(both: tuple[Path, Path]) -> None:
    one, other = map(load, both)
    files = [folder / "run" / "run.sqlite" for folder in both]
    with reading(files[0], one.registry) as journal, reading(files[1], other.registry) as its:
        assert not verify(journal).differences and not verify(its).differences and not verify(journal).differences
    with reading(files[0], other.registry) as journal:
        assert len(verify(journal).differences) > 10  # all tables with a winner
