"""Collect the data to ask a recorded question again: the bot's limits and seed, this question and earlier questions."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from host.base.errors import Problem, UserError
from host.bots.values import Evidence
from host.games.engine import Game
from host.inspect.recorded import Decision, RecordedFixture, load_fixture, root_of
from host.journal.reader import Journal
from host.journal.state import RecordedBot
from host.play.bot_pool import bot_seed
from host.sandbox.levels import Level
from protocols.wire import Answer, Fault, FaultKind

History = Literal["none", "table", "fixture"]
"""The earlier questions that the bot is asked first: none, those of the same table, or those of the whole fixture."""


class Target(NamedTuple):
    """A question to ask again, by its table and its number. Number 0 means all questions of the bot at this table."""

    fixture: str
    nth: int  # of the table in its fixture, from 0; -1 is the last
    number: int = 0  # of the question at its table, from 1
    bot: str = ""  # empty: any bot
    played: int | None = None  # the number of the fixture in the journal; None: the one with this path that counts


class Repro(NamedTuple):
    """The data to ask recorded questions again: first the questions of `before`, then those of `asked`."""

    game: Game
    rules: Any
    fixture: str
    table: str  # the name of the table; its luck follows from this name
    bot: RecordedBot
    croupier_seed: int
    level: Level
    asked: tuple[Decision, ...]
    before: tuple[Decision, ...] = ()
    history: History = "none"
    evidence: Evidence | None = None
    played: int | None = None  # as in Target
    state: bytes | None = None  # the content of its state file when the fixture began; None if unknown


def repro_of(journal: Journal, target: Target) -> Repro:
    """Return the data to ask the target's questions, without earlier questions.

    Raise UserError if there are no such questions, or if the journal cannot be read.
    """
    recorded = load_fixture(journal, root_of(journal), target.fixture, target.played)
    table = recorded.table(target.nth)
    bots, players = table.seated, table.sitting.players(table.game)
    with recorded.refusing_misfits():
        asked = [
            decision
            for decision in table.decisions()
            if target.number in (0, decision.number) and target.bot in ("", bots[decision.seat])
        ]
        if not asked:
            raise UserError([_not_asked(recorded, target)], 2)
    last = asked[-1]
    if table.game.sides is not None:  # the other seats of the bot are other processes
        asked = [decision for decision in asked if decision.seat == last.seat]
    return _repro(journal, recorded, bots[last.seat], players[last.seat], target.played)._replace(
        rules=table.sitting.rules,
        table=table.sitting.path,
        asked=tuple(asked),
        evidence=recorded.evidence_of(last) if target.number else None,
    )


def with_history(journal: Journal, repro: Repro) -> Repro:
    """Return a repro with the earlier questions that the same process was asked before.

    A bot that plays one table at a time gets all earlier questions of the fixture, if its process or its state file
    lives so long. For any other bot the order of its tables is not recorded, so it gets the earlier questions of the
    same table.
    """
    bot, first = repro.bot, repro.asked[0]
    if not bot.remembers:
        return repro
    recorded = load_fixture(journal, root_of(journal), repro.fixture, repro.played)
    whole_fixture = bot.one_at_a_time and (bot.lifetime == "fixture" or bool(bot.state))
    before: list[Decision] = []
    player = recorded.players(first.table - 1)[first.seat]
    with recorded.refusing_misfits():
        for decision in _asked_of(recorded, player, range(0 if whole_fixture else first.table - 1, first.table)):
            if (decision.table, decision.number) == (first.table, first.number):
                break
            before.append(decision)
            if _ends_process(decision.answer) and not bot.state and not bot.is_sent_history:
                before.clear()  # the next process did not get these questions
    return repro._replace(before=tuple(before), history="fixture" if whole_fixture else "table")


def _repro(journal: Journal, recorded: RecordedFixture, bot: str, player: str, played: int | None = None) -> Repro:
    """Return a repro without questions: the values that all questions of one process of a bot in a fixture share."""
    fixture = recorded.fixture
    return Repro(
        game=recorded.game,
        rules=fixture.rules,
        fixture=fixture.path,
        table=fixture.path,
        bot=journal.bots(played)[bot],
        croupier_seed=bot_seed(recorded.seed, player, fixture.path),
        level=journal.state().level,
        asked=(),
        state=journal.initial_states(fixture.path).get(bot) if played is None else None,
        played=played,
    )


def _asked_of(recorded: RecordedFixture, player: str, tables: range) -> Iterator[Decision]:
    """Yield the decisions of a process at some tables. Skip the questions that were not sent because it was benched."""
    for nth in tables:
        players = recorded.players(nth)
        if player in players:
            for decision in recorded.table(nth).decisions():
                if players[decision.seat] == player and decision.answer != Fault(FaultKind.BENCHED):
                    yield decision


def _ends_process(answer: Answer) -> bool:
    return isinstance(answer, Fault) and answer.ends_process


def _not_asked(recorded: RecordedFixture, target: Target) -> Problem:
    table = recorded.table(target.nth)
    bots = [table.seated[decision.seat] for decision in table.decisions()]
    name, number, bot = table.sitting.path, target.number, target.bot
    if number > len(bots):
        message = f"table {name} has {len(bots)} questions, there is no question {number}"
    elif number and bot:
        message = f"question {number} of {name} was asked of {bots[number - 1]}, not of {bot}"
    else:
        message = f"{bot} was not asked anything at {name}"
    return Problem("U001", "", message, hint=f"croupier replay '{name}' shows its questions")
