"""Compares the chain of a season with its store, and the ladder with the journals of its rounds."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from host.journal.chain import canonical, content_of, differing, parsed, seal_of
from host.season.documents import LadderDocument
from host.season.entries.store import Store
from host.season.rounds.book import Round, SeasonTotals
from host.season.rounds.chain import facts, links_of
from host.season.rounds.ladder import Before, LastRound, Listed, ladder
from host.season.rounds.season import Season

UNDONE = ("entries", "seed")
"""Subjects of the chain that the store may lack: entry was opened again, or the final is on another machine now."""

FREE = (("terms", "croupier"), ("terms", "name"))
"""Values that may differ. Each is a pair: the kind of a line, and the beginning of a key in it.

They change without an event, and the season seals them when it is opened the next time.
"""

PENDING = {"terms": ("terms", "terms"), "rename": ("version", "author"), "entries": ("entries", "")}
"""Values that may differ while the chain lacks an event, by the kind of the event.

The season appends the event and the values some seconds later.
"""

ROUNDING = {"rating": 0.11, "interval": 0.11, "ahead": 1e-4, "neighbours": 2e-3}
"""Greatest allowed differences of figures of the ladder: linear algebra rounds differently on another machine."""

BEHIND = "not ranked: "


class SealedSeason:
    """The chain of a season: its lines, the last line about each thing, and the differences found in the chain itself.

    `seal` is a seal of the chain that was published; empty: none is known.
    """

    def __init__(self, store: Store, seal: str = "") -> None:
        self.lines, self.differences = links_of(store), list[str]()
        self._last = dict[str, tuple[str, Any]]()
        before, seals = "", {""}
        for number, (stored, about, line) in enumerate(self.lines, 1):
            try:
                (kind,) = parsed(line).keys() - {"before"}
                self._last[about] = kind, content_of(line, kind, before)
            except (ValueError, AttributeError):
                self.differences.append(f"the chain: line {number} does not follow the line before it")
                return
            if stored != number:
                self.differences.append(f"the chain: line {number} is missing")
            before = seal_of(line)
            seals.add(before)
        if seal not in seals:
            self.differences.append(f"the chain: no line has the seal {seal}")

    def compare(self, season: Season, rounds: Sequence[Round]) -> Iterator[str]:
        """Yield a sentence for each value in the store that differs from the chain.

        Also yield one for each thing that only the chain has. A thing that only the store has is not a difference,
        because it is appended to the chain when the season is opened or exported.
        """
        last, found = dict(self._last), [*facts(season, rounds)]
        events = {content["kind"] for kind, about, content in found if kind == "change" and about not in last}
        free = [*FREE, *(PENDING[kind] for kind in events & PENDING.keys())]
        for kind, about, content in found:
            _, sealed = last.pop(about, (kind, content))
            for key, old, new in differing(sealed, parsed(canonical(content))):
                if not any(kind == line and key.startswith(part) for line, part in free):
                    yield f"{about}: {key} is {canonical(new)}, but it was sealed as {canonical(old)}"
        yield from (f"{about}: it was sealed, and is not in the store" for about in last if about not in UNDONE)


def ladder_differences(shown: LadderDocument, rounds: Sequence[Round], versions: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each value of a ladder that does not follow from `rounds`.

    `versions` has the labels of all versions of the season.
    """
    totals, places = SeasonTotals(), 0
    for each in rounds:
        if each.number <= shown.round:
            totals.add(each)
            places = each.terms.places
    due = {label for order in totals.sums.orders for equal in order for label in equal if label in versions}
    if due != {row.label for row in shown.rows}:
        yield f"the ladder: its versions are not those that have played up to round {shown.round}"
        return
    listed = [
        Listed(
            label=row.label,
            bot=row.bot,
            number=row.number,
            author=row.author,
            language=row.language,
            faults=totals.faults.get(row.label, 0),
            tried=row.tried,
            note="" if row.note.startswith(BEHIND) else row.note,
        )
        for row in shown.rows
    ]
    before = Before({}, {row.label: row.history[:-1] for row in shown.rows})
    again = ladder(listed, totals.sums, LastRound(shown.round, shown.at, {}), before, places)
    rows = {row.label: msgspec.to_builtins(row) for row in again.rows}
    for place, row in enumerate(shown.rows):
        yield from (
            f"the ladder: {key} of {row.label} is {canonical(shown_value)}, and {canonical(value)} follows from the journals"
            for key, value, shown_value in _apart(rows[row.label], msgspec.to_builtins(row))
        )
        if abs(again.rows[place].rating - row.rating) > ROUNDING["rating"]:
            yield f"the ladder: {row.label} is not at its place"


def _apart(computed: Mapping[str, Any], shown: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, the computed value and the shown value of each figure of a row that differs by too much.

    `moved` is left out, because it follows from the previous ladder, which is not kept.
    """
    for key in computed.keys() - {"moved"}:
        value, other = computed[key], shown[key]
        if key == "ranks":
            near = all(abs(one - two) <= 1 for one, two in zip(value, other, strict=True))
        elif key == "history":
            near = abs(value[-1] - other[-1]) <= ROUNDING["rating"]
        elif key in ROUNDING and None not in (value, other):
            near = abs(value - other) <= ROUNDING[key]
        else:
            near = value == other
        if not near:
            yield key, value, other
