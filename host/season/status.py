"""Reports the status of a season, from the documents that its process has published."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from host.base.errors import Problem, UserError
from host.base.format import counted, day, rough_duration
from host.journal.lock import lock_holder
from host.season.documents import PUBLISHED, SITE_FILE, RoundRow, SiteDocument
from host.season.entries.database import reading
from host.season.folder import SeasonFolder
from host.season.site_database import SiteDatabase


class SeasonStatus(NamedTuple):
    """Status of a season. `running` names the process that runs the season; it is empty if none does."""

    site: SiteDocument
    rounds: Sequence[RoundRow]  # newest first
    running: str
    now: float  # seconds since 1970

    def json(self) -> dict[str, Any]:
        """Return the status as JSON keys."""
        site = self.site
        last = next((each for each in self.rounds if each.state == "finished"), None)
        return {
            "season": site.name,
            "state": site.state,
            "running": self.running or None,
            "round": site.round,
            "bots": site.bots,
            "versions": site.versions,
            "waiting": site.waiting,
            "now": site.now,
            "freeze": site.freeze,
            "next_round": site.next_round,
            "last_finished": last.number if last else None,
            "seal": last.seal if last else None,
            "damaged": [each.number for each in self.rounds if each.state == "damaged"],
            "seed_sha256": site.seed_sha256,
        }

    def text(self) -> Iterator[str]:
        """Yield the status as lines."""
        site = self.site
        doing = f" ({site.now})" if site.now else ""
        parts = [f"round {site.round}" if site.round else "no round yet"]
        parts.append(f"{counted(site.bots, 'bot')}, {counted(site.versions, 'version')}")
        parts.append(f"{counted(site.waiting, 'submission')} waiting{doing}")
        if site.state in ("open", "frozen") and site.next_round and self.running:
            left = site.next_round - self.now
            parts.append(f"next round in {rough_duration(left)}" if left > 0 else "a round is due")
        yield " · ".join(parts)
        if site.state != "open":
            yield f"the season is {site.state}"
        if site.freeze:
            yield (
                f"entry closes at {day(site.freeze)}"
                if site.freeze > self.now
                else f"entry closed at {day(site.freeze)}"
            )
        if not self.running:
            yield "no process runs it: croupier season open  goes on"


def season_status(place: Path) -> SeasonStatus:
    """Return the status of a season. Raise UserError if it has never been opened, or has published nothing yet."""
    folder = SeasonFolder(place)
    path, running = folder.published / SITE_FILE, lock_holder(folder.store)
    site, rounds = None, tuple[RoundRow, ...]()
    if path.exists():
        with reading(path, PUBLISHED.application) as database:
            site, rounds = SiteDatabase(database).read("site", SiteDocument), SiteDatabase(database).rounds().rows
    if site is None:
        message = "this season is just being opened" if running else "this season has not been opened yet"
        hint = "it prepares its references first; try again in a moment" if running else "croupier season open"
        raise UserError([Problem("R006", str(place), message, hint=hint)], 3)
    return SeasonStatus(site, rounds, running, time.time())
