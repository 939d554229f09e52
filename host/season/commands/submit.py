"""The command `submit`: hands in a bot to a season, and prints its verdict."""

import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from host.base.errors import UserError
from host.base.format import rough_duration
from host.base.safe_text import escape_control_chars, one_line
from host.cli import CliContext, print_json

if TYPE_CHECKING:
    from host.season.intake.client import SeasonClient

FINAL_STATES = ("accepted", "refused", "cancelled")
MAX_TEXT_LINES = 30  # of each text of a verdict
STANDARD_INPUT = Path("-")
LINK_VARIABLE = "CROUPIER_LINK"


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    *("--to", "link"),
    metavar="LINK",
    envvar=LINK_VARIABLE,
    required=True,
    help=f"your link, which the organiser has sent you; default: that in ${LINK_VARIABLE}, where no other user sees it",
)
@click.option(
    *("--as", "name"), metavar="NAME", help="the name of the bot; default: that in its bot.toml, or of the file"
)
@click.option(
    "--wait",
    type=click.IntRange(0, 86_400),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="how long to wait for the verdict; the submission waits on without this command",
)
@click.pass_obj
def submit(context: CliContext, file: Path, link: str, name: str | None, wait: int) -> None:
    """Hand in a bot (a file, a folder, a .zip or .tar) to a season, and print its verdict.

    With - as FILE the bytes come from standard input, and --as NAME is needed: `git archive HEAD | croupier submit - --as mine`.

    The exit code is 0 if the bot is accepted, 1 if it is refused, 5 if it has no verdict yet. The same bytes may be handed
    in again: the answer is the same.
    """
    from host.season.intake.client import Link, SeasonClient

    if file == STANDARD_INPUT:
        if not name:
            raise click.UsageError("standard input has no name: add --as NAME")
        file_name, content = name, sys.stdin.buffer.read()
    else:
        file_name, content = contents_of(file)
    client = SeasonClient(Link.parse(link))
    submission = client.submit(name or name_of(file), file_name, content)
    if not context.json:
        click.echo(f"{_shown(submission, 'bot')} · {len(content)} bytes · sha256 {_shown(submission, 'sha256')[:16]}…")
    submission = _followed(client, submission, time.monotonic() + wait, quiet=context.json or context.quiet)
    state = submission.get("state")
    if context.json:
        print_json("submission", **{key: value for key, value in submission.items() if key != "schema"})
    else:
        for line in verdict_lines(submission):
            click.echo(line)
        click.echo(client.page(submission))
    raise click.exceptions.Exit({"accepted": 0, "refused": 1, "cancelled": 1}.get(str(state), 5))


def contents_of(path: Path) -> tuple[str, bytes]:
    """Return the file name and the bytes to hand in: a file as it is, or a folder packed as .tar.gz.

    Raise UserError if the file or folder cannot be read.
    """
    from host.base.system_errors import file_problem
    from host.season.intake.pack import packed
    from host.submissions.file_tree import SUBMITTED

    try:
        if path.is_dir():
            return f"{path.resolve().name}.tar.gz", packed(path, SUBMITTED)
        return path.name, path.read_bytes()
    except OSError as error:
        raise UserError([file_problem("read", path, error)], 2) from error


def name_of(path: Path) -> str:
    """Return the name of a bot from its bot.toml; if it has none or cannot be loaded, from the name of its file."""
    from host.bots.bot_spec import MANIFEST
    from host.sandbox.limits import Limits
    from host.season.entries.names import MAX_BOT_CHARS, usable_name
    from host.submissions.intake import Intake
    from host.submissions.intake_log import file_stem

    stem = path.resolve().name if path.is_dir() else file_stem(path.name)
    if path.suffix == ".toml" or (path.is_dir() and not (path / MANIFEST).exists()):
        return usable_name(stem, MAX_BOT_CHARS)
    try:
        with Intake() as intake:
            return usable_name(intake.load(path, Limits()).name, MAX_BOT_CHARS)
    except UserError:
        return usable_name(stem, MAX_BOT_CHARS)


def _followed(client: "SeasonClient", submission: dict[str, Any], until: float, *, quiet: bool) -> dict[str, Any]:
    """Follow a submission until it has its verdict or time.monotonic() reaches `until`, and return it.

    Print each change of its state, unless `quiet`.
    """
    shown, began = "", time.monotonic()
    while submission.get("state") not in FINAL_STATES:
        line = f"  {_shown(submission, 'state')}: {_shown(submission, 'why')}".removesuffix(": ")
        if line != shown and not quiet:
            click.echo(f"{line:<60} {rough_duration(time.monotonic() - began)}")
            shown = line
        if time.monotonic() >= until:
            return submission
        try:
            submission = client.follow(submission)
        except UserError as failed:
            if failed.exit_code != 5 or time.monotonic() >= until:
                raise
            print(f"  {failed.problems[0].message}: tried again", file=sys.stderr)
            time.sleep(1)
    return submission


def _shown(submission: Mapping[str, Any], key: str) -> str:
    return one_line(str(submission.get(key, "")))[:300]


def verdict_lines(submission: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a verdict for people. All texts are escaped: they may come from strangers' programs."""
    for check in submission.get("checks") or ():
        if isinstance(check, dict):
            yield f"  {_shown(check, 'mark')} {_shown(check, 'what'):<15} {_shown(check, 'text')}".rstrip()
            if check.get("cure"):
                yield f"{'':20}{_shown(check, 'cure')}"
    for problem in submission.get("problems") or ():
        yield from _text(str(problem))
    for key, title in (("first_wrong", "first wrong answer"), ("stderr", "standard error")):
        if text := str(submission.get(key) or ""):
            yield f"  {title}:"
            yield from (f"    {line}" for line in _text(text))
    label, state = _shown(submission, "label"), _shown(submission, "state")
    why = _shown(submission, "why")
    yield f"{state}{': ' if why or label else ''}{why or label}"


def _text(text: str) -> list[str]:
    return escape_control_chars(text).splitlines()[:MAX_TEXT_LINES]
