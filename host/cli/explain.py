"""The command `explain`: explains an error code, or names the pages of the documentation about a word."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

import protocols
from host.base.errors import explanations, lookup, unknown_name
from host.base.paths import display_path, shipped
from host.cli import CliContext, Facts, completers, print_result
from host.cli.common import wrap_prose

MAX_SECTIONS = 8  # of the sections that have the word
SECTION = re.compile(r"^(#+) (.+)\n((?:(?!#+ ).*\n?)*)", re.MULTILINE)
CODE = re.compile(r"[A-Z]\d{3}")


class Section(NamedTuple):
    """A section of a page, from its heading to the next one. `level` is 1 for the title of the page."""

    page: Path
    line: int
    level: int
    heading: str
    text: str


@click.command()
@click.argument("word", shell_complete=completers.codes, metavar="[CODE or WORD]", required=False)
@click.pass_obj
def explain(context: CliContext, word: str | None) -> None:
    """Explain an error code: what it means, why it happens and what to do.

    With another word, print the places in the documentation that have the word, the best one first. Without a word, list
    the pages of the documentation.
    `croupier docs` is the same command.
    """
    word = word or ""
    if CODE.fullmatch(word.upper()):
        code = word.upper()
        if code not in explanations():
            raise click.UsageError(unknown_name("code", code, explanations()))
        title, text = lookup(code)
        facts = {"code": code, "title": title, "text": text}
        print_result(context, "explain", Facts(facts, [f"{code}  {title}\n\n{wrap_prose(text)}"]))
        return
    found = [*about(word)]
    if not found:
        raise click.UsageError(f"the documentation does not have the word {word!r}; `croupier docs` lists its pages")
    rows = [{"page": str(each.page), "line": each.line, "heading": each.heading} for each in found]
    lines = (f"{display_path(each.page)}:{each.line}  {each.heading}" for each in found)
    print_result(context, "docs", Facts({"rows": rows}, lines))


def about(word: str) -> list[Section]:
    """Return up to MAX_SECTIONS sections that contain a word, those with the word in the heading first.

    For "", return the first section of each page.
    """
    if not word:
        return [section for section in sections() if section.level == 1]
    pattern = re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE)
    counted = [(bool(pattern.search(each.heading)), len(pattern.findall(each.text)), each) for each in sections()]
    found = sorted((each for each in counted if each[0] or each[1]), key=lambda each: each[:2], reverse=True)
    return [section for *_, section in found[:MAX_SECTIONS]]


def sections() -> Iterator[Section]:
    """Yield the sections of all pages of the documentation."""
    for page in [*sorted(shipped("docs").rglob("*.md")), *sorted(Path(protocols.__file__).parent.glob("*.md"))]:
        text = page.read_text()
        # A line of a block may begin with #, too: its comments are no headings.
        plain = re.sub(
            r"^(```+).*?^\1$", lambda block: block[0].replace("\n#", "\n "), text, flags=re.MULTILINE | re.DOTALL
        )
        for found in SECTION.finditer(plain):
            yield Section(page, plain.count("\n", 0, found.start()) + 1, len(found[1]), found[2], found[3])
