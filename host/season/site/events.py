"""Notifies listeners, by server-sent events, of published documents that have changed."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

import trio

from host.season.documents import topic_of
from host.season.site.errors import Refusal
from host.season.site.identity import Viewer
from host.season.site.published import Published

POLL_INTERVAL_S = 0.5  # between two checks of the published documents
PUBLIC = ("site", "ladder", "rounds")


def watched_by(viewer: Viewer) -> Sequence[str]:
    """Return the topics about which a viewer gets events."""
    own = [topic_of(viewer.author)] if viewer.author else []
    return [*PUBLIC, *own, *(["admin"] if viewer.organiser else [])]


class News:
    """Watches the published documents for changes."""

    def __init__(self, published: Published) -> None:
        self._published = published
        self._changed = trio.Event()

    async def follow(self) -> None:
        """Check the published documents every POLL_INTERVAL_S, and wake the listeners after each change."""
        seen = 0
        while True:
            with suppress(Refusal):  # it is not published yet
                self._published.refresh()
            if seen != (seen := self._published.revision()):
                changed, self._changed = self._changed, trio.Event()
                changed.set()
            await trio.sleep(POLL_INTERVAL_S)

    def edition(self, topics: Sequence[str]) -> str:
        """Return the edition of some topics: a text that changes whenever one of them changes."""
        return f"{self._published.revision(*topics):x}"

    async def events(self, topics: Sequence[str], since: str) -> AsyncIterator[bytes]:
        """Yield a server-sent event whenever one of the topics has changed.

        If `since` is neither empty nor the present edition of the topics, yield the first event immediately. An event
        does not contain the author's name, so that no proxy can log the name.
        """
        # Read before the first bytes are sent, so that each change after the listener has them is an event.
        known = {topic: self._published.revision(topic) for topic in topics}
        missed = bool(since) and since != self.edition(topics)
        yield b"retry: 2000\n\n"
        while True:
            event = self._changed  # taken before the revisions are read, so that no change is missed
            now = {topic: self._published.revision(topic) for topic in topics}
            changed, known = [topic for topic in topics if missed or now[topic] != known[topic]], now
            if changed:
                missed = False
                data = json.dumps({"changed": sorted({*(topic.partition("/")[0] for topic in changed)})})
                yield f"event: news\nid: {self.edition(topics)}\ndata: {data}\n\n".encode()
            else:
                await event.wait()
