"""Makes text from strangers safe to print: the only functions that escape it."""


def escape_control_chars(text: str) -> str:
    """Return a stranger's text with every control character escaped, for terminals, logs and pages."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """Return a stranger's text, for example a bot's name, escaped and without line ends."""
    return escape_control_chars(text).replace("\n", r"\n")
