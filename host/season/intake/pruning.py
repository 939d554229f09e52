"""Removes files that nothing of a season names any more, so that a season of weeks does not fill the disk.

Whatever ends the process while it removes, the next one removes the rest. Both functions are called in the main thread, which
alone adds uploads and versions.
"""

import re
from contextlib import suppress
from pathlib import Path

from host.base.paths import remove_tree
from host.season.entries.store import Store

KEPT_SECONDS, KEPT_BYTES = 24 * 3600, 1 << 30
"""How long, and how much of, what was refused or cancelled is kept for its authors, the newest first."""

SHA256 = re.compile("[0-9a-f]{64}")


def prune_uploads(store: Store, uploads: Path, now: float) -> int:
    """Remove the uploads that no version was made of and that nobody waits for. Return how many were removed.

    The upload of a version stays: its author can fetch it back.
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


def prune_store(store: Store, folder: Path, below: Path) -> None:
    """Remove the bots below a folder of the season that are no versions: their examinations ended before their verdict."""
    named = {folder / version.place for version in store.versions.all()}
    for content in below.iterdir():
        for place in content.iterdir():
            if place not in named:
                remove_tree(place)
        with suppress(OSError):  # another version has the same content
            content.rmdir()
