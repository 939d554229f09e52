"""Write down a recorded question for a debugger: the bytes on standard input, or the command line."""

import shlex

from host.bots.batch_state import TableIds
from host.inspect.repro import Repro
from host.submissions.bot_spec import BuiltBot
from protocols import PROTOCOLS


def standard_input(repro: Repro) -> bytes:
    """Return the bytes that the bot's process reads: earlier questions of the repro, then the questions asked.

    They are empty for a protocol that asks by arguments.
    """
    protocol = PROTOCOLS[repro.bot.protocol]
    if not protocol.persistent:
        return b""
    numbers, written, last = TableIds(protocol), b"", 0
    for decision in (*repro.before, *repro.asked):
        lines = protocol.lines([decision.view])
        if repro.bot.table_ids:
            if last and last != decision.table:
                numbers.end(last)
            lines = numbers.lines([numbers.number(decision.table)], lines)
        last = decision.table
        written += lines
    return written


def command_lines(repro: Repro, bot: BuiltBot, stdin: str) -> list[str]:
    """Return a shell command for each process that the questions need; `stdin` is the file with its input."""
    protocol = PROTOCOLS[repro.bot.protocol]
    variables = dict(bot.env) | {"CROUPIER_SEED": str(repro.croupier_seed)}
    start = ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), *bot.argv]
    folder = f"cd {shlex.quote(bot.folder)} && "
    if protocol.persistent:
        return [f"{folder}{shlex.join(start)} < {shlex.quote(stdin)}"]
    questions = [[word.decode() for word in protocol.ask(decision.view)] for decision in repro.asked]
    return [f"{folder}{shlex.join([*start, *question])}" for question in questions]
