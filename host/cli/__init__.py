"""The command `croupier`: what it knows without importing anything heavy; a command's module is loaded when it runs."""

import importlib
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import click

from host import __version__
from host.base.errors import Problem, UserError

COMMANDS = {
    "doctor": ("doctor", "the machine: toolchains, isolation, what is missing and what cures it"),
    "games": ("author", "the games, and what their bots are asked"),
    "init": ("bots", "a bot to begin with: it builds, plays legally, and has one place to edit"),
    "new": ("tournament", "make a tournament folder"),
    "add": ("tournament", "take in a submission: copy, build, check"),
    "ls": ("tournament", "the bots of a tournament"),
    "build": ("tournament", "build bots"),
    "check": ("bots", "is a bot accepted? builds, starts and asks it"),
    "play": ("author", "let bots play each other"),
    "compare": ("compare", "is the new bot better than the old one? plays until that is sure"),
    "run": ("tournament", "play the tournament; the same command goes on after ^C"),
    "compose": ("compose", "write a compose file: the tournament in containers, on one machine"),
    "status": ("watch", "how far a run is: one frame of watch"),
    "watch": ("watch", "a run from another terminal, until it ends; it only reads"),
    "standings": ("tournament", "who is ahead, and how sure that is"),
    "errors": ("author", "what went wrong, grouped, with evidence"),
    "ask": ("ask", "ask a bot again what it was asked then, with a time line"),
    "replay": ("author", "show a table again"),
    "report": ("report", "the whole tournament as one HTML file, with every table to be played again"),
    "serve": ("report", "the same pages live in a browser, read-only"),
    "export": ("report", "results and tables as csv, jsonl or play.log; a fault as a bundle"),
    "import": ("report", "make a play.log of 2018 viewable"),
    "seed": ("seed", "fix the seed before the cup, show it after"),
    "verify": ("author", "play every recorded answer through the rules again, and compare"),
    "config": ("config", "what croupier.toml means, its schema, and whether it is right"),
    "completion": ("config", "completion for bash, zsh and fish"),
    "explain": ("doctor", "the long text of an error code"),
    "version": ("doctor", "versions"),
}
"""Every command, the module it lives in and what it is for."""

SCHEMA_NUMBERS = {"check": 2, "dry-run": 2}
"""The numbers of the JSON schemas that have changed; all others have number 1.

Within a number keys are added. A key that is taken away or changes its meaning gives the schema its next number.
"""


class CliContext(NamedTuple):
    """What the global options say."""

    folder: Path
    json: bool
    quiet: bool
    verbose: bool


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for, so that help comes at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of COMMANDS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command, imported."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"host.cli.{COMMANDS[cmd_name][0]}")
        command = getattr(module, cmd_name)
        return command if isinstance(command, click.Command) else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Return the commands that begin so, none of them imported, and the options."""
        from click.shell_completion import CompletionItem

        words = [CompletionItem(name, help=text) for name, (_, text) in COMMANDS.items() if name.startswith(incomplete)]
        return words + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; one that does not exist brings the nearest that does."""
        if args and args[0] not in COMMANDS:
            raise click.UsageError(unknown_name("command", args[0], COMMANDS), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-C", "folder", default=".", metavar="DIR", help="work in this folder")
@click.option("--json", "as_json", is_flag=True, help="one JSON object on standard output")
@click.option("-q", "--quiet", is_flag=True, help="say only what matters")
@click.option("-v", "--verbose", is_flag=True, help="say more: whole messages, places of files")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="colours")
@click.version_option(__version__, prog_name="croupier")
@click.pass_context
def group(ctx: click.Context, folder: str, as_json: bool, quiet: bool, verbose: bool, color: str) -> None:
    """Bots in any language play each other at card games, each in a sandbox of its own."""
    if color == "never":
        os.environ["NO_COLOR"] = "1"
    if color == "always":
        os.environ["FORCE_COLOR"] = "1"
    place = Path(folder)
    if not place.is_dir() and ctx.invoked_subcommand != "new":
        raise click.UsageError(f"-C {folder}: no such folder")
    if (config := place / "croupier.toml").exists():
        from host.play.custom_games import register_from_config

        register_from_config(config)
    ctx.obj = CliContext(place, as_json, quiet, verbose)
    if ctx.invoked_subcommand is None:
        from host.cli.overview import around

        what, steps = around(place)
        if as_json:
            rows = [{"command": command, "does": does} for command, does in steps.items()]
            print_json("here", croupier=__version__, here=what, rows=rows)
            return
        click.echo(f"croupier {__version__}: here is {what}. Likely next:")
        for command, does in steps.items():
            click.echo(f"  {command:<48} {does}")


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """Return the message for a name that means nothing, with the nearest that does."""
    import difflib

    near = difflib.get_close_matches(name, [*known], 1)
    return f"there is no {what} {name!r}" + (f"; did you mean {near[0]} ?" if near else "")


def schema_of(name: str) -> dict[str, str]:
    """Return the first key of every JSON object: its schema, for example `croupier/run/1`."""
    return {"schema": f"croupier/{name}/{SCHEMA_NUMBERS.get(name, 1)}"}


def print_json(schema: str, **facts: Any) -> None:
    """Print one JSON object with its schema."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(schema_of(schema) | facts), indent=1).decode())


def print_json_line(schema: str, **facts: Any) -> None:
    """Print one JSON object with its schema on one line, the last of many."""
    import msgspec

    click.echo(msgspec.json.encode(schema_of(schema) | facts).decode())


def refuse(refused: UserError, as_json: bool) -> int:
    """Print what is wrong, all of it; return the exit code. As JSON it is one object, which says the first at its top."""
    if as_json:
        told = [_told(problem) for problem in refused.problems]
        click.echo(json.dumps(schema_of("error") | told[0] | {"exit": refused.exit_code, "problems": told}))
    else:
        for problem in refused.problems:
            click.echo(fit_width(str(problem)) if sys.stderr.isatty() else str(problem), err=True)
    return refused.exit_code


def fit_width(text: str) -> str:
    """Return a problem in lines of at most 100 columns, for a terminal; a pipe gets each of its parts on one line."""
    lines = text.splitlines()
    return "\n".join(part for line in lines for part in (_folded(line) if len(line) > COLUMNS else [line]))


def _folded(line: str) -> list[str]:
    import textwrap

    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(line, COLUMNS, subsequent_indent=indent, break_long_words=True, break_on_hyphens=False)


def _told(problem: Problem) -> dict[str, Any]:
    path, _, line = problem.where.rpartition(":")
    place = {"file": path, "line": int(line)} if line.isdigit() else {"file": problem.where or None, "line": None}
    told = {"code": problem.code, "message": problem.message, "evidence": problem.evidence, "hint": problem.hint}
    return told | place


def usage_error(wrong: click.ClickException) -> UserError:
    """Return what is wrong with a command line, in our own form: click's is four lines long and changes with it."""
    message, near = wrong.format_message(), ""
    if isinstance(wrong, click.NoSuchOption):
        near = next(iter(wrong.possibilities or ()), "")
        message = f"there is no option {wrong.option_name!r}" + (f"; did you mean {near} ?" if near else "")
    elif isinstance(wrong, click.MissingParameter) and wrong.param is not None:
        parameter = wrong.param
        name = parameter.human_readable_name if isinstance(parameter, click.Argument) else parameter.opts[-1]
        message = f"{name} is missing"
    at = wrong.ctx.command_path if isinstance(wrong, click.UsageError) and wrong.ctx else "croupier"
    return UserError([Problem("U001", "", message.removesuffix("."), hint=f"{at} --help")], wrong.exit_code)


COLUMNS = 100  # of a message on a terminal

GLOBAL = {"-C": 1, "--json": 0, "-q": 0, "--quiet": 0, "-v": 0, "--verbose": 0, "--color": 1}
"""The options of every command, and how many words follow each."""


def in_front(words: Sequence[str]) -> list[str]:
    """Return a command line with the global options in front: they are welcome behind the command too."""
    first: list[str] = []
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            others += [word, *rest]
        elif word in GLOBAL:
            first += [word, *islice(rest, GLOBAL[word])]
        elif word.startswith("--color="):
            first.append(word)
        else:
            others.append(word)
    return [*first, *others]


def main(words: Sequence[str] | None = None) -> None:
    """Run the command line: these words, or the process's own.

    Exit codes: 0 done, 1 a negative finding, 2 wrong use, 3 config, 4 a bot, 5 can go on, 6 the machine, 70 ours, 130 ^C.
    """
    arguments = in_front(sys.argv[1:] if words is None else words)
    as_json = "--json" in arguments
    try:
        code = group.main(args=arguments, prog_name="croupier", standalone_mode=False)
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    except click.ClickException as wrong:
        code = refuse(usage_error(wrong), as_json)
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except SystemExit:  # click's word for a pipe that nobody reads any more: `croupier games | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except UserError as refused:
        code = refuse(refused, as_json)
    except BaseException as failed:  # ours: it must not look like a bot's
        failed = _innermost(failed)
        if isinstance(failed, UserError):
            code = refuse(failed, as_json)
        elif isinstance(failed, KeyboardInterrupt):
            code = 130
        else:
            with tempfile.NamedTemporaryFile("w", prefix="croupier-", suffix=".txt", delete=False) as report:
                report.write("".join(traceback.format_exception(failed)))
            words = (str(failed).strip().splitlines() or [""])[-1][:300]
            message = f"croupier itself has failed: {type(failed).__name__}: {words}"
            evidence = "".join(traceback.format_exception(failed)) if {"-v", "--verbose"} & {*arguments} else ""
            problem = Problem("H001", "", message, evidence, f"the report is {report.name}")
            code = refuse(UserError([problem], 70), as_json)
    sys.exit(code if isinstance(code, int) else 0)


def _innermost(failed: BaseException) -> BaseException:
    """Return what a nursery has wrapped: a refusal before anything else, and ^C before any failure."""
    while isinstance(failed, BaseExceptionGroup):
        meant = failed.subgroup(UserError) or failed.subgroup(KeyboardInterrupt)
        failed = (meant or failed).exceptions[0]
    return failed
