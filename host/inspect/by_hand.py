"""Write down a recorded question for a debugger: the bytes on standard input, or the command line."""

import shlex

from host.bots.batch_state import TableIds
from host.bots.bot_spec import BuiltBot
from host.inspect.recorded import Decision
from host.inspect.repro import Repro
from host.rules.catalogue import game_by_name
from protocols import PROTOCOLS
from protocols.wire import Move


def standard_input(repro: Repro) -> bytes:
    """Return the bytes that the bot's process reads: earlier questions of the repro, then the questions asked.

    They are empty for a protocol that asks by arguments. In a protocol that repeats the earlier questions they are what a
    new process reads with the last question.
    """
    protocol = PROTOCOLS[repro.bot.protocol]
    if not protocol.persistent:
        return b""
    framing, grammar = protocol.framing(), game_by_name(repro.game).grammar
    numbers, written, last = TableIds(protocol), b"", 0
    for decision in (*repro.before, *repro.asked):
        if protocol.repeats:
            framing.restart()
            written = b""
        question = framing.encode([decision])
        if decision.bank is not None:
            question = protocol.bank(decision.bank, question)
        if repro.bot.table_ids:
            if last and last != decision.table:
                numbers.end(last)
            question = numbers.over() + protocol.number(numbers.number(decision.table), question)
        last = decision.table
        written += question
        if isinstance(decision.answer, Move):
            framing.hear([decision], [protocol.write(grammar, decision.answer)])
    return written


def command_lines(repro: Repro, bot: BuiltBot, stdin: str) -> list[str]:
    """Return a shell command for each process that the questions need; `stdin` is the file with its input."""
    protocol = PROTOCOLS[repro.bot.protocol]
    folder = f"cd {shlex.quote(bot.folder)} && "
    if protocol.persistent:
        first = (*repro.before, *repro.asked)[0]
        return [f"{folder}{shlex.join(_start(repro, bot, first))} < {shlex.quote(stdin)}"]
    questions = [(decision, [word.decode() for word in protocol.ask(decision.view)]) for decision in repro.asked]
    return [f"{folder}{shlex.join([*_start(repro, bot, decision), *words])}" for decision, words in questions]


def _start(repro: Repro, bot: BuiltBot, decision: Decision) -> list[str]:
    """Return the words that start the bot for a question, with its environment."""
    variables = dict(bot.env) | {"CROUPIER_SEED": str(repro.croupier_seed)}
    if decision.bank is not None:
        variables["CROUPIER_BANK"] = f"{decision.bank / 1000:.3f}"
    return ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), *bot.argv]
