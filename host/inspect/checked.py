"""Makes bundles of the faults that `croupier check` has found, so that `croupier ask` can repeat them."""

from collections.abc import Iterator

from host.bots.bot_spec import BuiltBot
from host.bots.values import Evidence, Question
from host.games.engine import Game
from host.inspect.recorded import Decision
from host.inspect.repro import Repro
from host.journal.state import RecordedBot
from host.sandbox.levels import Level
from host.submissions.conformance import CHECK_SEED_OF_BOTS, AnswerSample, ConformanceResult
from protocols.wire import Fault, FaultKind


def repro_of_check(bot: BuiltBot, game: Game, answers: ConformanceResult, piece: Evidence, level: Level) -> Repro:
    """Return a repro of a fault that `check` has found: the data to ask the question of the fault again.

    If the bot remembers earlier questions, the repro has the questions that the same process was asked before.
    """
    unasked = AnswerSample("", Question(1, 1, game.examples[0]), Fault(FaultKind.TIMEOUT), piece.wall)
    asked = [*answers.samples] or [unasked]
    at = next(
        nth
        for nth, each in enumerate(asked)
        if (each.question.table, each.question.number) == (piece.table, piece.number)
    )
    before = [*_since_start(asked[:at])] if RecordedBot.of(bot).remembers else []
    return Repro(
        game=game,
        rules=game.default_rules,
        fixture="check",
        table=f"check/{piece.table}",
        bot=RecordedBot.of(bot),
        croupier_seed=CHECK_SEED_OF_BOTS,
        level=level,
        asked=(_decision(asked[at]),),
        before=tuple(map(_decision, before)),
        history="fixture" if before else "none",
        evidence=piece,
        state=b"" if bot.spec.state else None,
    )


def _since_start(samples: list[AnswerSample]) -> Iterator[AnswerSample]:
    """Yield the samples after the last fault that ended the process of the bot."""
    ends = [nth for nth, each in enumerate(samples, 1) if isinstance(each.answer, Fault) and each.answer.ends_process]
    yield from samples[ends[-1] if ends else 0 :]


def _decision(sample: AnswerSample) -> Decision:
    table, number, view, _ = sample.question
    return Decision(table=table, number=number, seat=0, view=view, answer=sample.answer)
