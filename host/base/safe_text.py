"""Escapes text from bots and their authors, so that terminals, logs, pages and spreadsheets can display it safely.

Every text from an untrusted author passes through one of these functions before it is printed, or stored for people.
"""

from host.base.format import THIN_SPACE

KEPT = f"\n{THIN_SPACE}"


def escape_control_chars(text: str) -> str:
    """Return the text with every control character escaped, except line breaks. Keep thin spaces between thousands."""
    if text.isprintable():  # most text, in a tenth of the time
        return text
    return "".join(c if c.isprintable() or c in KEPT else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """Return the text in one line, with control characters and line breaks escaped."""
    return escape_control_chars(text).replace("\n", r"\n")


def csv_cell(text: str) -> str:
    """Return the text in one line for a spreadsheet. A leading quote keeps the spreadsheet from computing `=…`."""
    return f"'{one_line(text)}" if text.startswith(("=", "+", "-", "@", "\t")) else one_line(text)
