"""Defines one finding about a bot: a line in the report of `check` and in the verdict of a season."""

import msgspec


class Finding(msgspec.Struct, frozen=True, rename={"words": "text"}):
    """One line of a report: passed (✓), a note (!) or failed (✗). `cure` is the suggested fix.

    In the documents of a season the key of `words` is `text`.
    """

    mark: str
    what: str
    words: str
    cure: str = ""

    def __str__(self) -> str:
        text = f"  {self.mark} {self.what:<15} {self.words}"
        return f"{text}\n{'':20}{self.cure}" if self.cure else text
