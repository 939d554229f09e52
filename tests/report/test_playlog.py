"""play.log, written in the format of 2018."""

import json
from itertools import pairwise

import pytest

from host.games.engine import Table
from host.games.holdem import GAME, Rules
from host.games.luck import Luck
from host.report.playlog import Watcher, death
from protocols.wire import Answer, Fault, FaultKind, Move

NAMES = ("P1", "Zoë", 'the "third"')
RULES = Rules(seats=3, rounds=4)
CYCLE: tuple[Answer, ...] = (Move("BET", 1), Move("BET", 2), Fault(FaultKind.EXCEPTION, "KeyError"), Move("BET", 1))


def luck() -> Luck:
    """Return the luck of the game below."""
    return Luck(b"play", "log")


def answers() -> list[Answer]:
    """Return the answers of a short game with many kinds of events."""
    table, turn = Table(GAME, RULES, luck()), 0
    while table.request:
        table.answer(CYCLE[turn % len(CYCLE)])
        turn += 1
    return table.answers


def playlog(answers: list[Answer]) -> str:
    """Return the play.log of a game with these answers."""
    watcher = Watcher(NAMES)
    Table(GAME, RULES, luck(), answers, watcher.tell)
    return watcher.text()


LOG = playlog(answers())


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Move("BET", 0), "P1 tried to bet 0 chips. (min: 1, max: 9)"),
        (Move("BET", -(10**20)), f"P1 tried to bet {-(10**20)} chips. (min: 1, max: 9)"),
        (Fault(FaultKind.TIMEOUT, "TimeoutError"), "P1 tried to bet, but it took too long!"),
        (Fault(FaultKind.CPU), "P1 tried to bet, but it took too long!"),
        (Fault(FaultKind.EXCEPTION, "KeyError"), "P1 tried to bet, but something went wrong (KeyError)!"),
        (Fault(FaultKind.EXCEPTION), "P1 tried to bet, but something went wrong (Exception)!"),
        (Fault(FaultKind.CRASH, "signal 11"), "P1 tried to bet, but something went wrong (Crash)!"),
        (Fault(FaultKind.BENCHED), "P1 tried to bet, but something went wrong (Benched)!"),
    ],
)
def test_a_death_has_the_words_of_2018(answer: Answer, text: str) -> None:
    assert death("P1", answer, 1, 9) == text


def test_a_look_has_the_keys_of_2018_in_their_order() -> None:
    look = json.loads(LOG.splitlines()[0].removeprefix("INFO:root:"))
    assert list(look) == ["round", "acc_chips", "community_cards", "players", "all_in"]


def test_no_line_is_written_twice_in_a_row() -> None:
    assert all(line != following for line, following in pairwise(LOG.splitlines()))


def test_the_last_look_is_at_the_round_that_was_not_played() -> None:
    last = json.loads(LOG.splitlines()[-1].removeprefix("INFO:root:"))
    assert (last["round"], last["acc_chips"]) == (5, 0)


def test_a_fault_is_a_line_with_its_exception() -> None:
    assert any(line.startswith("ERROR:root:") and "(KeyError)" in line for line in LOG.splitlines())


def test_a_game_under_way_ends_before_the_open_question() -> None:
    begun = playlog(answers()[:5])
    assert begun and LOG.startswith(begun)
