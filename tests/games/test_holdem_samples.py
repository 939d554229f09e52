"""The sample bots of hold'em build, answer in time and legally, and remember nothing between questions."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import helpers
import pytest
import trio

from host.bots.bot_spec import BuiltBot
from host.bots.values import Batch, Question, Usage
from host.games.engine import Table
from host.games.holdem import GAME, View
from host.games.luck import Luck
from host.sandbox.limits import Limits
from host.stages.groups import shares
from host.submissions.build import build
from host.submissions.discovery import load_submission
from host.submissions.sample_bots import samples
from protocols.wire import Answer, Move

NAMES = sorted(samples("holdem"))
GAMES_PLAYED = 3
RULES = GAME.presets["banksalad"]._replace(rounds=12)


@cache
def bot(name: str) -> BuiltBot:
    """Build a sample bot."""
    return trio.run(build, load_submission(samples("holdem")[name]), helpers.level())._replace(limits=helpers.AMPLE)


def from_tables() -> Iterator[View]:
    """Yield the questions at tables of three to five bots, some of which call, raise or fold."""
    for number in range(GAMES_PLAYED):
        table = Table(GAME, RULES._replace(seats=3 + number), Luck(b"questions", str(number)))
        while table.request:
            view = View(*table.request.view)
            yield view
            wish = sum(map(ord, view.my_cards)) % 7
            raised = min(view.max_bet_amt, view.min_bet_amt + 3 * number + 2)
            table.answer(Move("BET", 0 if wish == 0 else raised if wish == 1 else view.min_bet_amt))


QUESTIONS = [*(View(*view) for view in GAME.examples), *from_tables()]


def asked(
    name: str, views: Sequence[View], at_once: int, seed: int = 1, limits: Limits = helpers.AMPLE
) -> list[Answer]:
    """Ask one process in batches; return its answers."""
    return told(name, views, at_once, seed, limits)[0]


def told(
    name: str, views: Sequence[View], at_once: int, seed: int = 1, limits: Limits = helpers.AMPLE
) -> tuple[list[Answer], Usage]:
    """Ask one process in batches; return its answers and usage."""
    asked_bot = bot(name)._replace(limits=limits)
    questions = [Question(1, number, view) for number, view in enumerate(views, 1)]

    async def work() -> tuple[list[Answer], Usage]:
        async with helpers.seat_of(asked_bot, "holdem", seed) as seat:
            answers: list[Answer] = []
            for start in range(0, len(questions), at_once):
                answers += await seat.ask(Batch(questions[start : start + at_once]))
            return answers, seat.usage()

    return trio.run(work)


def test_all_seven_are_there() -> None:
    assert NAMES == ["always_bet", "card_score", "careful", "ehs", "ehs_cpp", "odds", "tight"]


def test_a_sample_is_a_folder_with_a_manifest() -> None:
    assert all((place / "bot.toml").is_file() for place in map(Path, samples("holdem").values()))


@pytest.mark.parametrize("name", helpers.breadth(NAMES, 7))
def test_every_example_gets_a_legal_answer_within_the_second_of_2018(name: str) -> None:
    examples = [View(*view) for view in GAME.examples]
    answers = asked(name, examples, 1, limits=Limits(move=1.0, startup=10, cpu=1.0))
    assert [
        (view, answer)
        for view, answer in zip(examples, answers, strict=True)
        if not (isinstance(answer, Move) and GAME.allows(RULES, view, answer))
    ] == []


@pytest.mark.parametrize("name", helpers.breadth(NAMES, 7))
def test_every_question_gets_a_legal_answer_and_none_costs_a_process(name: str) -> None:
    answers, usage = told(name, QUESTIONS, bot(name).spec.parallel_tables)
    legal = [
        isinstance(answer, Move) and GAME.allows(RULES, view, answer)
        for view, answer in zip(QUESTIONS, answers, strict=True)
    ]
    assert all(legal) and usage.starts == 1


@pytest.mark.parametrize("name", helpers.breadth([name for name in NAMES if name != "card_score"], 6))
def test_one_at_a_time_and_a_wave_at_once_the_answers_are_the_same(name: str) -> None:
    questions = QUESTIONS[:160]
    waves = asked(name, [*questions, *questions], bot(name).spec.parallel_tables)[160:]
    assert bot(name).spec.parallel_tables == 32 and asked(name, questions, 1) == waves


def test_card_score_is_a_bot_of_2018() -> None:
    assert (bot("card_score").spec.lifetime, bot("card_score").spec.parallel_tables) == ("table", 1)
    assert asked("card_score", QUESTIONS[:80], 1) == asked("card_score", QUESTIONS[:80], 1, seed=2)


@pytest.mark.long
def test_tight_takes_its_chance_from_its_seed() -> None:
    assert asked("tight", QUESTIONS, 32, seed=1) != asked("tight", QUESTIONS, 32, seed=2)


@pytest.mark.long
@pytest.mark.parametrize("name", [helpers.long("ehs"), "ehs_cpp", helpers.long("odds")])
def test_others_take_it_from_the_question(name: str) -> None:
    assert asked(name, QUESTIONS[:160], 32, seed=1) == asked(name, QUESTIONS[:160], 32, seed=2)


@pytest.mark.parametrize("name", helpers.breadth([name for name in NAMES if name != "always_bet"], 15))
def test_whoever_is_alone_takes_the_pot_for_the_least_bet(name: str) -> None:
    alone = [view for view in QUESTIONS if all(other.died for other in view.bet_players + view.betting_players)]
    least = [Move("BET", view.min_bet_amt) for view in alone]
    assert name == "card_score" or (alone and asked(name, alone, 1) == least)


@pytest.mark.proof
def test_odds_goes_on_more_often_than_two_in_five() -> None:
    names = ("odds", "ehs_cpp", "careful", "tight", "always_bet")
    record = helpers.played("holdem", [bot(name) for name in names], 40)
    seats = [-table % 5 for table in range(40)]  # it sits first at table 1, last at table 2, and so on
    assert sum(shares(scores)[seat] for seat, scores in zip(seats, record.scores, strict=True)) > 20


@pytest.mark.long
def test_a_fixture_is_the_same_with_one_table_abreast_and_with_32() -> None:
    five = [bot(name) for name in ("always_bet", "ehs_cpp", "odds", "tight", "careful")]
    one, many = (helpers.played("holdem", five, 6, parallel_tables) for parallel_tables in (1, 32))
    assert (one.scores, one.answers) == (many.scores, many.answers)
