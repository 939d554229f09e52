"""Check referees: the rules of a game must give the same results in every process, for every order of tables."""

import time
from collections.abc import Sequence
from pathlib import Path

from host.base.errors import UserError
from host.rules.foreign import game_folder, is_foreign
from host.sandbox.levels import Level
from host.submissions.referee_check import (
    RefereeReport,
    ReplayReport,
    check_referee,
    read_failed_table,
    refused,
    replay_bundle,
)


async def check_referees(places: Sequence[str], level: Level, began: float) -> list[RefereeReport]:
    """Check referees one after the other; return their reports. The seconds of the first report count from `began`.

    Raise UserError only for problems of the machine (exit code 6). Other problems are in the reports.
    """
    reports = list[RefereeReport]()

    def took() -> float:
        return time.monotonic() - began

    for place in places:
        try:
            reports.append(await check_referee(_folder_of(place), level, place, took))
        except UserError as error:
            if error.exit_code == 6:
                raise
            reports.append(refused(error, place, took()))
        began = time.monotonic()
    return reports


async def replay_failed(place: str, level: Level, bundle: Path) -> ReplayReport:
    """Play again the table in a bundle, at which a referee failed. Return the report."""
    return await replay_bundle(_folder_of(place), level, read_failed_table(bundle))


def _folder_of(place: str) -> Path:
    """Return the folder of a referee. `place` is its path, or its name in croupier.toml.

    Raise UserError if there is no such folder.
    """
    return game_folder(place, Path.cwd(), place) if is_foreign(place) else Path(place)
