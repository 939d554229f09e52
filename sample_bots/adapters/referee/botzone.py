"""Speaks to a judge of Botzone: it is called once a turn, and reads the whole history of the game as JSON.

Several players in one request answer at the same time.
"""

import json
from typing import Any

from steps import Answer, Ask, Begin, Close, Failed, Options, Play, Question, ReadOutput, Send, Table, seat_of, told

MAX_UNASKED = 100  # turns one after another in which a judge asks nobody
MAX_SCORE = 10**12
KEEP_RUNNING = ">>>BOTZONE_REQUEST_KEEP_RUNNING<<<"

VERDICTS = {"timeout": "TLE", "cpu": "TLE", "benched": "TLE", "memory": "MLE", "flood": "OLE", "unreadable": "NJ"}
"""Botzone's words for the faults of a bot. All others are RE, an error at run time."""


def play(table: Table, options: Options) -> Play:
    """Play one game. The scores are those of the judge."""
    initdata: Any = ({"seed": table.seed} if options.seed else {}) | table.rules
    log: list[Any] = []
    running, unasked = False, 0
    while True:
        if not running:
            yield Begin()
        yield Send(compact(log[-1] if running else {"log": log, "initdata": initdata}) + "\n")
        if not options.keep_running:
            yield Close()
        text, ended = yield ReadOutput(KEEP_RUNNING if options.keep_running else "")
        running = not ended
        said = read(text)
        if not log and "initdata" in said:
            initdata = said["initdata"]
        if said.get("display"):
            display = said["display"]
            yield told(display if isinstance(display, str) else compact(display))
        content = {seat_of(name, table): value for name, value in said["content"].items()}
        if said["command"] == "finish":
            return scores_of(content, table)
        unasked = 0 if content else unasked + 1
        if unasked > MAX_UNASKED:
            raise Failed(f"asks no player {MAX_UNASKED} times")
        # As on Botzone, what a judge wrote lies under "output"; some judges read it there. Others read it at the top.
        log.append({**said, "keep_running": running, "verdict": "OK", "output": said})
        asked = tuple(Question(seat, {"request": compact(request)}) for seat, request in sorted(content.items()))
        answers = (yield Ask(asked)) if asked else {}
        log.append({str(seat): verdict(answer) for seat, answer in answers.items()})


def compact(value: Any) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, separators=(",", ":"))


def read(text: str) -> dict[str, Any]:
    """Return what a judge wrote. Raise Failed if it is not a request or an end."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise Failed(f"wrote {text.strip()[:200]!r}, which is not JSON" if text.strip() else "wrote nothing") from None
    if not isinstance(said, dict) or said.get("command") not in ("request", "finish"):
        raise Failed(f'wrote {text.strip()[:200]!r} without "command": "request" or "finish"')
    if not isinstance(said.get("content"), dict):
        raise Failed(f'wrote {text.strip()[:200]!r} without "content", an object with the players')
    return said


def verdict(answer: Answer) -> dict[str, Any]:
    """Return an answer as it stands in the log of the judge."""
    if answer.fault:
        return {"verdict": VERDICTS.get(answer.fault, "RE"), "response": None}
    try:
        return {"verdict": "OK", "response": json.loads(answer.text)}
    except (ValueError, RecursionError):  # of a bot with another protocol
        return {"verdict": "OK", "response": answer.text}


def scores_of(content: dict[int, Any], table: Table) -> list[float]:
    """Return the scores of a judge."""
    for seat in range(table.seats):
        score = content.get(seat)
        if isinstance(score, bool) or not isinstance(score, int | float) or not abs(score) < MAX_SCORE:
            raise Failed(f"ends without a score of player {seat}")
    return [float(content[seat]) for seat in range(table.seats)]
