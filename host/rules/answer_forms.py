"""Reads the forms of answers in a game.toml. `BID <card: 1..13>` becomes a grammar, and a source of random answers."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from host.base.value_types import InvalidValue
from host.games.luck import Luck
from protocols.wire import MAX_LINE_BYTES, Grammar, View

MAX_FORMS = 100
PLACEHOLDER = re.compile(
    r"<([a-z][a-z0-9_]{0,39})(?:: *([a-z]+|-?[0-9]{1,9}\.\.-?[0-9]{1,9}))?(?: +from +([a-z][a-z0-9_]*))?>"
)
LITERAL = re.compile(r"[!-;=?-~]+")  # a word without < and >
KINDS = ("word", "integer", "text", "unicode", "lines", "json")
FREE = frozenset({"text", "unicode", "lines", "json"})
"""The kinds of placeholders that take any text."""
EXAMPLE = '"PLAY <card>", "BID <chips: 1..50>", "SAY <words: text>"'
WORDS = ("a", "7", "Td", "north", "x1", "-1")
"""The words that a random answer has for a placeholder without a list of good values."""


class Placeholder(NamedTuple):
    """Placeholder in a form: name, kind, range of a number, and the field of the question that lists good values."""

    name: str
    kind: str = "word"
    low: int = 0
    high: int = 999
    field: str = ""

    @property
    def pattern(self) -> str:
        """Return the regular expression of the texts that can replace the placeholder."""
        if self.kind == "integer":
            return f"(?:{integers(self.low, self.high)})"
        return {"word": "[!-~]+", "text": "[ -~]+", "unicode": "[ -\U0010ffff]+", "lines": r"[ -~]*(?:\n[ -~]*)*"}[
            self.kind
        ]

    def drawn(self, luck: Luck, view: View) -> str:
        """Return a random text for the placeholder: in three cases of four, one of the values in its field."""
        listed = getattr(view, self.field, ()) if self.field else ()
        values = listed if isinstance(listed, tuple) else (listed,)
        if values and luck.below(4):
            value = values[luck.below(len(values))]
            return str(value[0] if isinstance(value, tuple) and value else value)
        if self.kind == "integer":
            return str(self.low + luck.below(self.high - self.low + 1))
        words = [WORDS[luck.below(len(WORDS))] for _ in range(1 + (luck.below(3) if self.kind != "word" else 0))]
        return ("\n" if self.kind == "lines" else " ").join(words)


def integers(low: int, high: int) -> str:
    """Return a regular expression of the whole numbers from `low` to `high`.

    For 8 to 31 it is `0*(?:[8-9]|[1-2][0-9]|3[0-1])`.
    """
    if high < 0:
        return f"-{integers(-high, -low)}"
    if low < 0:
        return f"-{integers(1, -low)}|{integers(0, high)}"
    ends = {high}  # the ends of ranges in which each digit varies independently of the others
    for power in (10**digits for digits in range(1, len(str(high)) + 1)):
        nines, zeros = low - low % power + power - 1, high - (high + 1) % power
        ends |= {end for end in (nines, zeros) if low <= end < high}
    patterns = []
    for end in sorted(ends):
        pairs = zip(str(low), str(end), strict=True)
        patterns.append("".join(first if first == last else f"[{first}-{last}]" for first, last in pairs))
        low = end + 1
    return f"0*(?:{'|'.join(patterns)})"


class Form(NamedTuple):
    """One form of an answer: its literal words, and its placeholders."""

    text: str  # as game.toml has it
    parts: tuple[str | Placeholder, ...]

    @property
    def verb(self) -> str:
        """Return the first word of the form; "" if it is a placeholder."""
        return self.parts[0] if isinstance(self.parts[0], str) else ""

    @property
    def is_number(self) -> bool:
        """Whether a move of this form is a verb and a number, or only a number.

        After a verb the number is at least 1: a move with the number 0 is written like one without a number.
        """
        *before, last = self.parts
        is_number = isinstance(last, Placeholder) and last.kind == "integer"
        least = 0 if not before else 1
        return is_number and len(before) <= 1 and bool(self.verb) == bool(before) and last.low >= least  # type: ignore[union-attr]

    @property
    def is_free(self) -> bool:
        """Whether an answer of this form may contain any text."""
        return any(isinstance(part, Placeholder) and part.kind in FREE for part in self.parts)

    @property
    def pattern(self) -> str:
        """Return the regular expression of a whole answer of this form."""
        return " +".join(part.pattern if isinstance(part, Placeholder) else re.escape(part) for part in self.parts)

    @property
    def simplest(self) -> str:
        """Return a fixed answer of this form, with the smallest numbers and one word for each other placeholder."""
        return " ".join(
            part if isinstance(part, str) else str(part.low) if part.kind == "integer" else WORDS[0]
            for part in self.parts
        )

    def drawn(self, luck: Luck, view: View) -> str:
        """Return a random answer of this form to the question `view`."""
        return " ".join(part.drawn(luck, view) if isinstance(part, Placeholder) else part for part in self.parts)


def read_form(text: object) -> Form:
    """Parse the form of an answer. Raise InvalidValue if it is wrong."""
    if not isinstance(text, str):
        raise InvalidValue("C006", "is not the form of an answer", EXAMPLE)
    parts: list[str | Placeholder] = []
    rest = text.strip()
    while rest:
        if match := PLACEHOLDER.match(rest):
            parts.append(_placeholder(*match.groups()))
        elif not (match := LITERAL.match(rest)):
            raise InvalidValue("C009", f"has a part that is neither a word nor a placeholder: {rest[:40]}", EXAMPLE)
        else:
            parts.append(match[0])
        after = rest[match.end() :]
        if after and not after.startswith(" "):
            raise InvalidValue("C009", f"needs a blank before {after[:40]}", EXAMPLE)
        rest = after.strip(" ")
    if not parts:
        raise InvalidValue("C009", "is empty", EXAMPLE)
    form = Form(text.strip(), tuple(parts))
    wide = [part for part in parts if isinstance(part, Placeholder) and part.kind in FREE]
    if wide and (len(wide) > 1 or parts[-1] is not wide[0]):
        raise InvalidValue(
            "C009",
            f"has <{wide[0].name}: {wide[0].kind}> before its end",
            "put it last: it takes the rest of the answer",
        )
    if wide and wide[0].kind == "json" and len(parts) > 1:
        raise InvalidValue("C009", "has more than one JSON value", '"<response: json>"')
    return form


def _placeholder(name: str, kind: str | None, field: str | None) -> Placeholder:
    low, dots, high = (kind or "").partition("..")
    if dots:
        if int(low) > int(high):
            raise InvalidValue("C009", f"has an empty range in <{name}: {kind}>", f"<{name}: {high}..{low}>")
        return Placeholder(name, "integer", int(low), int(high), field or "")
    if kind and kind not in KINDS:
        raise InvalidValue("C008", f"has an unknown kind in <{name}: {kind}>", f"one of {', '.join(KINDS)}, or 1..50")
    return Placeholder(name, kind or "word", field=field or "")


def grammar_of(forms: Sequence[Form]) -> Grammar:
    """Return the grammar of answers that have one of these forms.

    The verb of a move is the first word of its form, if that word is not a placeholder. A number after the verb, or a
    number alone, is the number of the move. Everything else is its text.
    """
    expected = " or ".join(form.text for form in forms)
    if any(part.kind == "json" for form in forms for part in form.parts if isinstance(part, Placeholder)):
        return Grammar(re.compile(r"(?P<text>.*)", re.DOTALL), "a JSON value", "ANSWER", json=True)
    # If an empty answer matches a form, a move without a text is the empty answer, and not the number 0.
    empty_fits = any(re.fullmatch(form.pattern, "") for form in forms)
    numbers = [] if empty_fits else [form.pattern for form in forms if form.is_number]
    verbs = [form.pattern for form in forms if form.verb]
    utf8 = any(isinstance(part, Placeholder) and part.kind == "unicode" for form in forms for part in form.parts)
    never, text = r"(?!)", "(?P<text>[\n -\U0010ffff]*)" if utf8 else r"(?P<text>[\n -~]*)"
    pattern = (
        rf"(?=(?:{'|'.join(form.pattern for form in forms)})\Z)"
        + (rf"(?:(?=(?:{'|'.join(numbers)})\Z)(?P<is_number>))?" if numbers else "")
        + rf"(?:(?=(?:{'|'.join(verbs) or never})\Z)(?P<verb>[!-~]+) *)?"
        + (rf"(?(is_number)(?P<n>-?[0-9]+)|{text})" if numbers else text)
    )
    return Grammar(re.compile(pattern, re.IGNORECASE), expected, "ANSWER", utf8=utf8)


def random_answer(forms: Sequence[Form], luck: Luck, view: View, until: str | None = None) -> str:
    """Return a random answer to a question, in one of the forms.

    `until` is the first word of the last line of each answer, "" for a blank line, or None; see `Grammar.until`.
    """
    text = forms[luck.below(len(forms))].drawn(luck, view)[:MAX_LINE_BYTES]
    is_whole = until is None or text.rpartition("\n")[2].partition(" ")[0] == until
    return text if is_whole else f"{text}\n{until}"
