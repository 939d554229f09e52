"""The command `croupier`: what it knows without importing anything heavy; a command's module is loaded when it runs."""

import importlib
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import click

from host import __version__
from host.problems import Refused

COMMANDS = {
    "doctor": ("machine", "the machine: toolchains, isolation, what is missing and what cures it"),
    "games": ("author", "the games, and what their bots are asked"),
    "new": ("organise", "make a tournament folder"),
    "add": ("organise", "take in a submission: copy, build, check"),
    "ls": ("organise", "the bots of a tournament"),
    "build": ("organise", "build bots"),
    "check": ("author", "is a bot accepted? builds, starts and asks it"),
    "play": ("author", "let bots play each other"),
    "run": ("organise", "play the tournament; the same command goes on after ^C"),
    "status": ("organise", "how far a run is"),
    "standings": ("organise", "who is ahead, and how sure that is"),
    "errors": ("author", "what went wrong, grouped, with evidence"),
    "replay": ("author", "show a table again"),
    "explain": ("machine", "the long text of an error code"),
    "version": ("machine", "versions"),
}
"""Every command, the module it lives in and what it is for."""


class Office(NamedTuple):
    """What the global options say."""

    folder: Path
    json: bool
    quiet: bool
    verbose: bool


class Lazy(click.Group):
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; one that does not exist brings the nearest that does."""
        import difflib

        if args and args[0] not in COMMANDS:
            near = difflib.get_close_matches(args[0], COMMANDS, 1)
            hint = f"  did you mean  croupier {near[0]} ?" if near else "  see  croupier --help"
            raise click.UsageError(f"there is no command {args[0]!r}{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in COMMANDS.items()])


@click.group(cls=Lazy, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-C", "folder", default=".", metavar="DIR", help="work in this folder")
@click.option("--json", "as_json", is_flag=True, help="one JSON object on standard output")
@click.option("-q", "--quiet", is_flag=True, help="say only what matters")
@click.option("-v", "--verbose", is_flag=True, help="say more")
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
    ctx.obj = Office(place, as_json, quiet, verbose)
    if ctx.invoked_subcommand is None:
        tournament = (place / "croupier.toml").exists()
        bot = (place / "bot.toml").exists()
        next_steps = (
            ["croupier run", "croupier standings", "croupier ls"]
            if tournament
            else ["croupier check .", "croupier play . sample:kelly", "croupier games"]
            if bot
            else ["croupier doctor", "croupier new cup --game cardshark --with-samples", "croupier games"]
        )
        what = "a tournament" if tournament else "a bot" if bot else "no tournament and no bot"
        click.echo(f"croupier {__version__}: here is {what}. Likely next:")
        for step in next_steps:
            click.echo(f"  {step}")


def print_json(schema: str, **facts: Any) -> None:
    """Print one JSON object with its schema, `croupier/NAME/1`."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode({"schema": f"croupier/{schema}/1"} | facts), indent=1).decode())


def refuse(refused: Refused, as_json: bool) -> int:
    """Print what is wrong; return the exit code."""
    for problem in refused.problems:
        if as_json:
            path, _, line = problem.where.rpartition(":")
            known = {"file": path, "line": int(line)} if line.isdigit() else {"file": problem.where, "line": None}
            told = {"schema": "croupier/error/1", "code": problem.code, "message": problem.message}
            click.echo(json.dumps(told | known | {"evidence": problem.evidence, "hint": problem.hint}))
        else:
            click.echo(str(problem), err=True)
    return refused.exit_code


def main() -> None:
    """Run the command line.

    Exit codes: 0 done, 1 a negative finding, 2 wrong use, 3 config, 4 a bot, 5 can go on, 6 the machine, 70 ours, 130 ^C.
    """
    as_json = "--json" in sys.argv
    # --json is welcome behind the command too
    arguments = [word for word in sys.argv[1:] if word != "--json"]
    try:
        code = group.main(args=["--json", *arguments] if as_json else arguments, standalone_mode=False)
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    except click.UsageError as wrong:
        if as_json:
            click.echo(json.dumps({"schema": "croupier/error/1", "code": "U001", "message": wrong.format_message()}))
        else:
            wrong.show()
        code = 2
    except click.ClickException as wrong:
        wrong.show()
        code = wrong.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Refused as refused:
        code = refuse(refused, as_json)
    except BaseException as failed:  # ours: it must not look like a bot's
        failed = _innermost(failed)
        if isinstance(failed, Refused):
            code = refuse(failed, as_json)
        elif isinstance(failed, KeyboardInterrupt):
            code = 130
        else:
            with tempfile.NamedTemporaryFile("w", prefix="croupier-", suffix=".txt", delete=False) as report:
                report.write("".join(traceback.format_exception(failed)))
            words = (str(failed).strip().splitlines() or [""])[-1][:300]
            click.echo(
                f"croupier itself has failed: {type(failed).__name__}: {words}\n  report: {report.name}", err=True
            )
            code = 70
    sys.exit(code if isinstance(code, int) else 0)


def _innermost(failed: BaseException) -> BaseException:
    """Return what a nursery has wrapped: a refusal before anything else."""
    while isinstance(failed, BaseExceptionGroup):
        refused = failed.subgroup(Refused)
        failed = (refused or failed).exceptions[0]
    return failed
