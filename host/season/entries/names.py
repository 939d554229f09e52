"""Checks the names of authors and bots in a season, which are parts of addresses, file names and labels."""

import re
from unicodedata import combining, normalize

from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.bots.bot_spec import unsafe_name

MAX_BOT_CHARS = 30  # a label adds "-" and a number, and the name of a bot has at most 40 characters
MAX_AUTHOR_CHARS = 40
LEAST_AUTHOR_CHARS = 12  # of an author's name that the name of a bot contains (`name_beside`)
MAX_FILE_CHARS = 120
MAX_FILE_BYTES = 240  # a file system takes 255, and the season adds a suffix
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
SHOWN_CHARS = 60
SPELLED = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss", "ø": "o", "ł": "l", "'": "", "’": ""}
)
"""The spelling of letters that a name cannot have. Other letters lose their accents."""
RESERVED_NAMES = frozenset({"admin", "organiser", "croupier", "nobody", "anybody", "everybody"})
"""Names that an author cannot have, because readers could take the author for the organiser."""


def author_name(name: str) -> str:
    """Return the name unchanged if an author can have it. Raise UserError if not."""
    _check("author", name, MAX_AUTHOR_CHARS)
    if name.lower() in RESERVED_NAMES:
        raise _refused("author", name, "is reserved", "choose another name")
    return name


def season_bot_name(name: str) -> str:
    """Return the name unchanged if a bot in a season can have it. Raise UserError if not."""
    _check("bot", name, MAX_BOT_CHARS)
    return name


def submitted_file_name(name: str) -> str:
    """Return the name unchanged if a submitted file can have it. Raise UserError if not."""
    plain = name.isprintable() and "/" not in name and not name.startswith(".") and name == name.strip()
    short = plain and 0 < len(name) <= MAX_FILE_CHARS and len(name.encode()) <= MAX_FILE_BYTES
    if short and not unsafe_name(name):
        return name
    shown = one_line(name[:SHOWN_CHARS])
    message = "this name of a file has a character that it cannot have, is empty or too long"
    raise UserError([Problem("E002", shown, message, hint="rename it, for example mine.tar.gz")], 3)


def whole_number(text: str) -> int:
    """Return the number that a text of up to 9 digits spells; 0 for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def usable_name(text: str, most: int) -> str:
    """Return a valid name of at most `most` characters that is similar to a text; empty if no character can stay."""
    plain = "".join(each for each in normalize("NFKD", text.translate(SPELLED)) if not combining(each))
    return re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("-._")[:most].rstrip("-._")


def name_beside(bot: str, author: str) -> str:
    """Return a name for an author's bot whose own name belongs to a bot of another author: AUTHOR.BOT.

    If that is too long, the author's name is shortened. The bot's name is shortened too if less than LEAST_AUTHOR_CHARS
    of the author's name would remain.
    """
    short = author[: max(MAX_BOT_CHARS - len(bot) - 1, LEAST_AUTHOR_CHARS)].rstrip("-._")
    return f"{short}.{bot}"[:MAX_BOT_CHARS].rstrip("-._")


def _check(what: str, name: str, most: int) -> None:
    rule = f"letters a to z, digits, and - . _ after the first character; at most {most}"
    near = usable_name(name, most)
    if len(name) > most:
        raise _refused(what, name, f"has more than {most} characters", near or rule)
    if not NAME.fullmatch(name):
        hint = f"{near}  ({rule})" if near else rule
        raise _refused(what, name, "has a character that it cannot have" if name else "is empty", hint)


def _refused(what: str, name: str, why: str, hint: str) -> UserError:
    shown = one_line(name[:SHOWN_CHARS])
    return UserError(
        [Problem("E002", shown, f"this name of {'an' if what == 'author' else 'a'} {what} {why}", hint=hint)], 3
    )
