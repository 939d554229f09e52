"""play.log, written in the format of 2018 and read back."""

import json
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.games.engine import Table
from host.games.holdem import GAME, Rules
from host.games.holdem_playlog import Death, GameSnapshot, Watcher, death, read_playlog, to_text
from host.games.luck import Luck
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
    *_, last = read_playlog(LOG)
    assert isinstance(last, GameSnapshot) and (last.round, last.acc_chips) == (5, 0)


def test_a_game_under_way_ends_before_the_open_question() -> None:
    begun = playlog(answers()[:5])
    assert begun and LOG.startswith(begun)


def test_what_is_read_is_written_again_as_it_was() -> None:
    assert to_text(read_playlog(LOG)) == LOG


def test_deaths_are_read_too() -> None:
    assert any(isinstance(line, Death) and "(KeyError)" in line.text for line in read_playlog(LOG))


def torn() -> Iterator[int]:
    """Yield positions at which to cut the file: every one in its last lines, some before."""
    yield from range(0, len(LOG) - 900, 97)
    yield from range(len(LOG) - 900, len(LOG))


def test_a_torn_file_is_refused_with_its_line() -> None:
    for at in torn():
        with pytest.raises(ValueError, match=f"^line {LOG[:at].count(chr(10)) + 1} of the play.log"):
            read_playlog(LOG[:at])


FIRST = LOG.splitlines()[0]


@pytest.mark.parametrize(
    "foreign",
    [
        "{}",
        "INFO:root:{}",
        "INFO:root:[]",
        "INFO:root:nothing",
        "INFO:root:" + "[" * 100_000,
        "WARNING:root:beware",
        FIRST.replace('"chips": 199', '"chips": "199"', 1),
        FIRST.replace('"chips": 199', '"chips": -1', 1),
        FIRST.replace('"suit": ', '"suit": 4', 1),
        FIRST.replace('"rank": ', '"rank": 9', 1),
        FIRST.replace('"died": false', '"died": 0', 1),
        FIRST.replace('"acc_chips": 0, ', "", 1),
        FIRST.replace('"acc_chips"', '"more": 1, "acc_chips"', 1),
        FIRST.replace(": ", ":"),
        FIRST.replace("\\u00eb", "ë"),
        FIRST + " ",
    ],
)
def test_a_foreign_line_is_refused_with_its_number(foreign: str) -> None:
    with pytest.raises(ValueError, match=r"^line 2 of the play\.log"):
        read_playlog(f"{FIRST}\n{foreign}\n{LOG}")


@given(st.integers(0, len(LOG) - 1), st.text(max_size=3))
@settings(max_examples=200, deadline=None)
def test_a_damaged_file_is_read_as_it_is_or_refused(at: int, damage: str) -> None:
    text = LOG[:at] + damage + LOG[at + len(damage) :]
    try:
        read = read_playlog(text)
    except ValueError as error:
        assert str(error).startswith("line ")
    else:
        assert read and all(isinstance(line, GameSnapshot | Death) for line in read)
