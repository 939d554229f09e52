"""Speaks to a referee that is written for CodinGame's engine: each message is a header `[[NAME] n]` and n lines.

A process plays one game. The referee names one player at a time.
"""

import re
from collections.abc import Generator
from typing import Any

from steps import (
    Answer,
    Ask,
    Begin,
    Failed,
    Options,
    Play,
    Question,
    Read,
    Send,
    Show,
    Step,
    Table,
    number_of,
    seat_of,
    told,
)

HEADER = re.compile(r"\[\[([A-Z_]{1,40})\] ?([0-9]{1,9})\]\s*")
MAX_LINES = 1000  # of an answer
MAX_MESSAGE_LINES = 1_000_000
MAX_LIMIT_MS = 10**9
MAX_STRAY_LINES = 10_000  # without a header


def play(table: Table, options: Options) -> Play:
    """Play one game. The scores are those of the referee."""
    properties = ({"seed": table.seed} if options.seed else {}) | table.rules
    yield Begin()
    lines = [
        f"[[INIT] {1 + len(properties)}]",
        str(table.seats),
        *(f"{key}={value}" for key, value in properties.items()),
    ]
    yield Send("\n".join([*lines, "[[GET_GAME_INFO] 0]", ""]))
    texts = [""] * table.seats
    text, monitored = "", False
    while True:
        name, lines = yield from message()
        if name == "NEXT_PLAYER_INPUT":
            text = "".join(f"{line}\n" for line in lines)
        elif name == "NEXT_PLAYER_INFO":
            seat, count, limit_ms = player_info(lines, table)
            texts[seat] += text
            text, answer = "", Answer()
            if count:
                question = Question(seat, {"text": texts[seat]}, count, limit_ms)
                answer = (yield Ask((question,)))[seat]
                texts[seat] = ""
            yield Send(reply(answer, count, monitored))
        elif name == "MONITORING":
            monitored = True  # the referee wants to know the time of each answer
        elif name == "SUMMARY":
            if lines:
                yield told("\n".join(lines))
        elif name == "SCORES":
            yield Show({seat: text for seat, text in enumerate(texts) if text})
            return scores_of(lines, table)
        elif name == "FAIL":
            raise Failed(f"reports its own failure: {' | '.join(lines)[:500]}")


def message() -> Generator[Step, Any, tuple[str, list[str]]]:
    """Read one message. Lines that belong to no message are ignored: some referees log to their standard output."""
    for _ in range(MAX_STRAY_LINES):
        line = (yield Read())[0]
        if header := HEADER.fullmatch(line):
            count = number_of(header[2], "the lines of a message", MAX_MESSAGE_LINES)
            return header[1], [each.rstrip("\r") for each in (yield Read(count))] if count else []
    raise Failed(f"wrote {MAX_STRAY_LINES} lines without a header [[NAME] n], the last one {line[:100]!r}")


def player_info(lines: list[str], table: Table) -> tuple[int, int, int]:
    """Return the player, the lines of its answer, and its limit in milliseconds."""
    if len(lines) != 3:
        raise Failed(f"wrote [[NEXT_PLAYER_INFO] {len(lines)}], which has 3 lines")
    seat, count, limit_ms = (line.strip() for line in lines)
    return (
        seat_of(seat, table),
        number_of(count, "the lines of an answer", MAX_LINES),
        max(1, number_of(limit_ms, "a limit in milliseconds", MAX_LIMIT_MS)),
    )


def reply(answer: Answer, count: int, monitored: bool) -> str:
    """Return the messages that give the referee an answer and let it go on.

    The time of an answer is 0 ms: a referee must not decide by it, because the same answers could have another result then.
    """
    if answer.fault:
        return "[[SET_PLAYER_TIMEOUT] 0]\n[[GET_GAME_INFO] 0]\n"
    lines = (["0"] if monitored else []) + (answer.text.split("\n") if count else [])
    return "\n".join([f"[[SET_PLAYER_OUTPUT] {len(lines)}]", *lines, "[[GET_GAME_INFO] 0]", ""])


def scores_of(lines: list[str], table: Table) -> list[float]:
    """Return the scores of lines `index score`."""
    scores: dict[int, int] = {}
    for line in lines:
        index, _, score = line.strip().partition(" ")
        if not re.fullmatch(r"-?[0-9]{1,12}", score):
            raise Failed(f"has {score[:40]!r} as a score, which is a whole number")
        scores[seat_of(index, table)] = int(score)
    if len(scores) != table.seats:
        raise Failed(f"wrote scores of {len(scores)} players out of {table.seats}")
    return [float(scores[seat]) for seat in range(table.seats)]
