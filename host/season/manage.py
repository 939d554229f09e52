"""Leaves the requests of the organiser in the inbox of a season, and waits for their answers."""

import time
from pathlib import Path

from host.base.errors import Problem, UserError
from host.journal.lock import lock_holder
from host.season.entries.inbox import Manage, write_request
from host.season.entries.store import Store
from host.season.entries.values import Answer
from host.season.folder import SeasonFolder

ANSWER_TIMEOUT_S = 30.0
POLL_S = 0.05


def manage(place: Path, request: Manage) -> Answer | None:
    """Leave a request in the inbox, wait for its answer, and return it.

    If no process runs the season, return None without waiting. The season answers the request when it is opened. Raise
    UserError if the season process does not answer within ANSWER_TIMEOUT_S.
    """
    folder = SeasonFolder(place)
    name = write_request(folder.inbox, request)
    if not lock_holder(folder.store):
        return None
    end = time.monotonic() + ANSWER_TIMEOUT_S
    while time.monotonic() < end:
        with Store.reading(folder.path) as store:
            if answer := store.events.answered(name):
                return answer
        time.sleep(POLL_S)
    message = f"has not answered for {ANSWER_TIMEOUT_S:.0f} s"
    hint = "the request stays in the inbox and is done as soon as the process goes on"
    raise UserError([Problem("E103", str(folder.path), message, hint=hint)], 5)
