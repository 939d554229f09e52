"""Removes files that a season no longer needs, so that a season of several weeks does not fill the disk.

If the process ends while it removes files, the next process removes the rest. Call the functions that remove uploads
and versions in the main thread, because only the main thread adds them.
"""

import math
import shutil
import time
from contextlib import suppress
from pathlib import Path

from host.base.errors import Problem, UserError
from host.base.paths import remove_tree
from host.season.entries.inbox import SHA256
from host.season.entries.store import Store
from host.season.folder import SeasonFolder
from host.submissions.build import builds, prune_builds

KEPT_SECONDS, KEPT_BYTES = 24 * 3600, 1 << 30
"""How long, and up to how many bytes, refused and cancelled uploads are kept for their authors, the newest first."""

BUILDS_BYTES, UNUSED_S, MIN_FREE_BYTES = 4 << 30, 600.0, 512 << 20
"""Bytes of builds that are kept; seconds after which a build is not in use; bytes that must be free on a disk."""


def prune_uploads(store: Store, uploads: Path, now: float) -> int:
    """Remove old uploads of refused and cancelled submissions. Return the number of removed uploads.

    The upload of a version stays, because its author can download it. The upload of a submission without a verdict
    stays, too.
    """
    kept, size = set[str](), 0
    for upload in store.submissions.uploads():
        if upload.needed:
            kept.add(upload.sha256)
        elif upload.at > now - KEPT_SECONDS and size + upload.size <= KEPT_BYTES:
            kept.add(upload.sha256)
            size += upload.size
    found = [path for path in uploads.iterdir() if SHA256.fullmatch(path.name) and path.name not in kept]
    for path in found:
        path.unlink(missing_ok=True)
    return len(found)


def require_room(folder: Path, busy_since: float | None = None) -> None:
    """Remove old builds if a disk is almost full. Raise UserError (exit code 6) if it is almost full even then.

    So no bot is refused, or taken off the ladder, because of a full disk. Builds that have been used since
    `busy_since`, when the present round began, stay.
    """
    unused_since = min(time.time() - UNUSED_S, busy_since or math.inf)
    for each in (builds(), folder):
        if _is_full(each):
            prune_builds(0, unused_since)
        if _is_full(each):
            message = f"the disk is almost full: {shutil.disk_usage(each).free >> 20} MiB are free"
            hint = "make room (keep in [season], or CROUPIER_CACHE on another disk); the season goes on by itself"
            raise UserError([Problem("E015", str(each), message, hint=hint)], 6)


def _is_full(folder: Path) -> bool:
    disk = shutil.disk_usage(folder)
    return disk.free < min(MIN_FREE_BYTES, disk.total // 4)


def prune_old_builds(busy_since: float | None) -> int:
    """Remove builds if all builds together have more than BUILDS_BYTES, or need more than half of a small disk.

    Return the number of removed builds. Builds that have been used in the last UNUSED_S, or since `busy_since`, when
    the present round began, stay.
    """
    most = min(BUILDS_BYTES, shutil.disk_usage(builds()).total // 2)
    return prune_builds(most, min(time.time() - UNUSED_S, busy_since or math.inf))


def prune_store(store: Store, folder: SeasonFolder) -> None:
    """Remove the folders of bots that are not versions, because their examinations ended before the verdict."""
    named = {folder.path / version.place for version in store.versions.all()}
    for content in folder.versions.iterdir():
        for place in content.iterdir():
            if place not in named:
                remove_tree(place)
        with suppress(OSError):  # another version has the same content
            content.rmdir()
