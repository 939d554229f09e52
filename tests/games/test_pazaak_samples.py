"""The sample bots of Pazaak build, answer legally, and remember nothing between questions."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import helpers
import pytest
import trio
from test_simplepazaak import asked

from host.bots.bot_spec import BuiltBot
from host.games.engine import Table
from host.games.luck import Luck
from host.games.pazaak import GAME, View
from host.submissions.build import build
from host.submissions.discovery import load_submission
from host.submissions.sample_bots import samples
from protocols.wire import Move

NAMES = sorted(samples("pazaak"))
TABLES = 60


@cache
def bot(name: str) -> BuiltBot:
    """Build a sample bot."""
    return trio.run(build, load_submission(samples("pazaak")[name]), helpers.level())._replace(limits=helpers.AMPLE)


def from_tables() -> Iterator[View]:
    """Yield the questions at tables where both bots draw up to a total of 14 to 19, and sometimes play a card."""
    for preset in GAME.presets.values():
        for number in range(TABLES):
            table = Table(GAME, preset, Luck(b"questions", str(number)))
            while table.request:
                view = View(*table.request.view)
                yield view
                limit = 14 + (number + len(view.opponent_hand)) % 6
                plays = number % 3 == 0 and view.your_side_deck
                stop = Move("PLAY", view.your_side_deck[0]) if plays else Move("STAND")
                table.answer(Move("END") if sum(view.your_hand) < limit else stop)


QUESTIONS = [*(View(*view) for view in GAME.examples), *from_tables()]


def test_all_ten_are_there() -> None:
    assert [
        *("austin_powers", "bastila", "cincinnati_kid", "dumb_bold", "dumb_cautious"),
        *("glaucus", "hk_47", "neptr", "nestor", "optimum"),
    ] == NAMES


@pytest.mark.parametrize("name", helpers.breadth(NAMES, 10))
def test_every_question_gets_a_legal_answer(name: str) -> None:
    rules = GAME.presets["thread"]
    answers = trio.run(asked, bot(name), QUESTIONS)
    assert [
        (view, answer)
        for view, answer in zip(QUESTIONS, answers, strict=True)
        if not (isinstance(answer, Move) and GAME.allows(rules, view, answer))
    ] == []


@pytest.mark.parametrize("name", helpers.breadth(NAMES, 4))
def test_one_at_a_time_and_128_at_once_the_answers_are_the_same(name: str) -> None:
    questions = QUESTIONS[:400]
    assert trio.run(asked, bot(name), questions, 1) == trio.run(asked, bot(name), [*questions, *questions])[400:]


def test_each_bears_whole_waves() -> None:
    assert {load_submission(place).spec.parallel_tables for place in samples("pazaak").values()} == {128}


def test_glaucus_takes_its_chance_from_its_seed() -> None:
    one, other = (trio.run(asked, bot("glaucus"), QUESTIONS, 128, seed) for seed in (1, 2))
    assert one != other


@pytest.mark.long
@pytest.mark.parametrize("dumb", ["dumb_cautious", "dumb_bold"])
def test_a_side_deck_and_a_look_at_the_opponent_win_most_games(dumb: str) -> None:
    assert helpers.played("pazaak", [bot("optimum"), bot(dumb)], 200).results["optimum"].wins > 140


def test_both_dumb_bots_stand_on_their_own_hand_alone() -> None:
    totals = {
        name: {
            sum(view.your_hand)
            for view, answer in zip(QUESTIONS, trio.run(asked, bot(name), QUESTIONS), strict=True)
            if answer == Move("STAND")
        }
        for name in ("dumb_cautious", "dumb_bold")
    }
    assert {name: min(stood) for name, stood in totals.items()} == {"dumb_cautious": 16, "dumb_bold": 19}


def test_a_sample_is_a_folder_with_a_manifest() -> None:
    assert all((place / "bot.toml").is_file() for place in map(Path, samples("pazaak").values()))


@pytest.mark.parametrize(
    "pair", helpers.breadth([NAMES[at - 2 : at] for at in range(len(NAMES), 0, -2)], 5), ids="+".join
)
def test_a_fixture_is_the_same_with_one_table_abreast_and_with_128(pair: list[str]) -> None:
    one, many = (
        helpers.played("pazaak", [bot(name) for name in pair], 20, parallel_tables) for parallel_tables in (1, 128)
    )
    assert (one.scores, one.answers) == (many.scores, many.answers)
