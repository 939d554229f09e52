"""Formats numbers and times for people."""

import time

THIN_SPACE = "\u202f"  # between thousands; a line is not broken at it


def thousands(number: float, decimals: int = 0) -> str:
    """Return a number with thin spaces between thousands: "1 063"."""
    return f"{number:,.{decimals}f}".replace(",", THIN_SPACE)


def duration(seconds: float) -> str:
    """Return a duration, given in seconds, in a suitable unit. A short duration is "<0.1 µs", never 0."""
    for size, unit in ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s")):
        amount = seconds / size
        if amount < 0.05:
            return f"<0.1 {unit}"
        if amount < 9.95:
            return f"{amount:.1f} {unit}"
        if amount < 999.5:
            return f"{amount:.0f} {unit}"
    return f"{thousands(seconds / 60)} min"


def rough_duration(seconds: float) -> str:
    """Return a rounded duration of at least one second, given in seconds: "12 s", "8 min", "2.5 h"."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def milliseconds(seconds: float, decimals: int = 1) -> str:
    """Return a duration, given in seconds, in milliseconds: "12.3 ms"."""
    return f"{seconds * 1000:.{decimals}f} ms"


def day(seconds: float) -> str:
    """Return a time in seconds since 1970 as a date and a time of day in UTC."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def clock(seconds: float) -> str:
    """Return a time in seconds since 1970 as a date and a time of day with seconds, in UTC."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


def plural(count: int, noun: str) -> str:
    """Return the singular or the plural of a noun, for a count: "table", "tables"."""
    return noun if count == 1 else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 table", "1 063 tables"."""
    return f"{thousands(count)} {plural(count, noun)}"


def ordinal(number: int) -> str:
    """Return the ordinal of a number: "1st", "2nd", "11th"."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{thousands(number)}{ending}"


def with_article(noun: str) -> str:
    """Return a noun with its article: "a game", "an adapter"."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
