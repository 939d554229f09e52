"""Tells listeners which published documents have changed, as server-sent events."""

import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path, PurePosixPath

import trio

from host.season.site.identity import Viewer
from host.season.site.published import Signature, signature_of

POLL_INTERVAL_S = 0.5  # between two looks at the documents
PUBLIC = ("site.json", "ladder.json", "rounds.json")


def watched_by(viewer: Viewer) -> Sequence[str]:
    """Return the documents of which a viewer hears that they have changed."""
    own = [f"private/authors/{viewer.author}.json"] if viewer.author else []
    return [*PUBLIC, *own, *(["private/admin.json"] if viewer.organiser else [])]


class News:
    """Watches the documents that somebody listens to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._watched: Counter[str] = Counter(PUBLIC)
        self._seen: dict[str, Signature | None] = {}
        self._changed = trio.Event()

    async def follow(self) -> None:
        """Look at the documents again and again, and wake the listeners if one has changed."""
        while True:
            seen = {name: self._signature(name) for name, listeners in self._watched.items() if listeners}
            if seen != self._seen:
                self._seen = seen
                changed, self._changed = self._changed, trio.Event()
                changed.set()
            await trio.sleep(POLL_INTERVAL_S)

    def _signature(self, name: str) -> Signature | None:
        try:
            return signature_of(self._folder / name)
        except OSError:
            return None

    def edition(self, names: Sequence[str]) -> str:
        """Return a text that differs whenever one of these documents does."""
        signatures = [(name, self._signature(name)) for name in names]
        return hashlib.sha256(repr(signatures).encode()).hexdigest()[:16]

    async def events(self, names: Sequence[str], since: str) -> AsyncIterator[bytes]:
        """Yield an event whenever one of these documents has changed; at once if their edition is not `since`.

        An event names the documents without their folders, so that it does not tell an author's name to a proxy's log.
        """
        self._watched.update(names)
        try:
            # Looked at before the first bytes are sent: what changes after the listener has them is news.
            known = {name: self._signature(name) for name in names}
            missed = bool(since) and since != self.edition(names)
            yield b"retry: 2000\n\n"
            while True:
                event = self._changed  # taken before the documents are looked at, so that no change is missed
                now = {name: self._signature(name) for name in names}
                changed, known = [name for name in names if missed or now[name] != known[name]], now
                if changed:
                    missed = False
                    told = {
                        PRIVATE_NAMES.get(str(PurePosixPath(name).parent), name.removesuffix(".json"))
                        for name in changed
                    }
                    data = json.dumps({"changed": sorted(told)})
                    yield f"event: news\nid: {self.edition(names)}\ndata: {data}\n\n".encode()
                else:
                    await event.wait()
        finally:
            self._watched.subtract(names)


PRIVATE_NAMES = {"private/authors": "mine", "private": "admin"}
