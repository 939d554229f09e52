"""The entry point of `croupier`: global options, the table of commands, errors. A command's module is imported when it runs."""

import contextlib
import importlib
import json
import os
import re
import select
import shlex
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import click

from host import __version__
from host.base.errors import USAGE_HINT, Problem, UserError, cause_of, unknown_name
from host.base.paths import cache_dir
from host.base.system_errors import system_error

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from host.stages import Registry


COMMAND_GROUPS: Mapping[str, Mapping[str, str]] = {
    "Play": {
        "new": "create a tournament folder",
        "run": "play the tournament, or continue it after ^C",
        "play": "let bots play some tables against each other",
        "compare": "test whether a new bot is stronger than an old one",
        "season": "run a season: people hand in bots, a ladder runs until a deadline",
    },
    "Bots": {
        "init": "create a starter bot",
        "add": "add a submission to the tournament: copy, build and start it",
        "remove": "remove a bot that has not played yet",
        "check": "check that a bot builds, starts and answers correctly",
        "submit": "hand in a bot to a season, and print its verdict",
    },
    "Results": {
        "standings": "print the standings with error bars",
        "rating": "rate bots over several tournaments",
        "grades": "print the grades of a course, and why a bot has its points",
        "faults": "list the faults of the bots, with evidence",
        "replay": "print a recorded table",
        "report": "write the tournament as one HTML file, with replays",
        "serve": "show the tournament live in a browser (read-only)",
    },
    "More": {
        "doctor": "report what this machine provides and what is missing",
        "games": "list the games; describe a game's questions and answers",
        "status": "print the progress of a run",
        "verify": "recompute all scores from the recorded answers",
        "redo": "let a fixture be played again, with the same cards",
        "withdraw": "withdraw a bot: its tables no longer count",
        "seed": "commit to the seed before the tournament, reveal it afterwards",
        "export": "export results or tables as csv, jsonl or play.log",
        "config": "print, validate or describe croupier.toml",
        "ask": "ask a bot a recorded question again",
        "ls": "list the bots of the tournament",
        "explain": "explain an error code, or find a word in the documentation",
    },
}
"""All commands with a line of help, in the groups and the order of `croupier --help`. `croupier x` is host/cli/x.py,
except for the commands of seasons."""

COMMANDS = {name: line for commands in COMMAND_GROUPS.values() for name, line in commands.items()}
GONE = {
    "build": "croupier check BOT",
    "completion": "see docs/commands.md#completion",
    "compose": "docker/compose.yaml",
    "packet": "croupier report --for BOT",
    "version": "croupier --version",
    "watch": "croupier status --follow",
}
"""Removed commands, each with its replacement."""

SAME = {"docs": "explain"}
"""Other names of commands."""

OF_SEASONS = {"season", "submit"}
"""The commands in host/season/commands."""

STARTED = time.monotonic()
"""When the command was started. The times that commands print begin here, because the user has waited since then."""

SCHEMA_NUMBERS = {"ask": 2, "check": 2, "config": 2, "dry-run": 4}
"""The numbers of the JSON schemas that have changed; all others have number 1.

While the number stays the same, keys are only added. A schema that loses a key, or changes its meaning, gets the next
number.
"""


class CliContext(NamedTuple):
    """The values of the global options."""

    folder: Path
    json: bool
    quiet: bool
    verbose: bool

    @property
    def registry(self) -> "Registry":
        """Return the registry with which journals are read. It has the code that the folder's croupier.toml names."""
        from host.config.resolver import registry_of

        return registry_of(self.folder)


class LazyGroup(click.Group):
    """A group that imports a command only when it is used, so that `croupier --help` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands in the order of `croupier --help`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command and return it; None if it does not exist."""
        if cmd_name not in COMMANDS:
            return None
        package = "host.season.commands" if cmd_name in OF_SEASONS else "host.cli"
        command: click.Command = getattr(importlib.import_module(f"{package}.{cmd_name}"), cmd_name)
        from host.cli.examples import EXAMPLES

        command.epilog = "\b\nExamples:\n" + "\n".join(f"  croupier {words}" for words in EXAMPLES[cmd_name])
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the commands and options that start with `incomplete`, without importing a command."""
        from click.shell_completion import CompletionItem

        words = [CompletionItem(name, help=line) for name, line in COMMANDS.items() if name.startswith(incomplete)]
        return words + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command by name. Raise UsageError for an unknown name, with the most similar command."""
        args = [SAME.get(args[0], args[0]), *args[1:]] if args else args
        if args and args[0] not in COMMANDS:
            gone = f"there is no command {args[0]!r} any more: {GONE[args[0]]}" if args[0] in GONE else ""
            for group in sorted(GROUPS):
                command = self.get_command(ctx, group)
                if isinstance(command, click.Group) and args[0] in command.list_commands(ctx):
                    gone = f"there is no command {args[0]!r}; did you mean `croupier {group} {args[0]}`?"
            raise click.UsageError(gone or unknown_name("command", args[0], COMMANDS), ctx)
        if args and not ({"-h", "--help"} & {*args} or ctx.resilient_parsing):
            from host.cli.in_a_season import refuse_in_a_season

            refuse_in_a_season(Path(ctx.params.get("folder") or "."), args[0])
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups, then the options. No command is imported."""
        width = max(map(len, COMMANDS))
        for title, commands in COMMAND_GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", line) for name, line in commands.items()])
        click.Command.format_options(self, ctx, formatter)


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-C", "folder", default=".", metavar="DIR", help="use this folder instead of the current one")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object on standard output")
@click.option("-q", "--quiet", is_flag=True, help="print only results and warnings")
@click.option("-v", "--verbose", is_flag=True, help="print details: complete messages, paths")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="when to use colours")
@click.version_option(
    message=f"croupier {__version__}  Python {sys.version.split()[0]}  {os.uname().sysname} {os.uname().release}"
)
@click.pass_context
def group(ctx: click.Context, folder: str, as_json: bool, quiet: bool, verbose: bool, color: str) -> None:
    """Let bots in any language play games against each other, each in its own sandbox."""
    if color == "never":
        os.environ["NO_COLOR"] = "1"
    if color == "always":
        os.environ["FORCE_COLOR"] = "1"
        os.environ.pop("NO_COLOR", None)
    path = Path(folder)
    if not path.is_dir() and ctx.invoked_subcommand != "new":
        what = "is not a folder" if path.exists() else "no such folder"
        hint = f"check the path; croupier new {shlex.quote(folder)} --game GAME creates a tournament there"
        hint = f"-C {shlex.quote(str(path.parent))}" if path.exists() else hint
        raise UserError([Problem("U001", "", f"-C {folder}: {what}", hint=hint)], 2)
    ctx.obj = CliContext(path, as_json, quiet, verbose)
    if ctx.invoked_subcommand is None:
        from host.cli.overview import overview

        print_result(ctx.obj, "here", overview(path).completed(lambda command: in_folder(command, folder)))


class CommandResult(Protocol):
    """The result of a command. It can be printed as lines, or as one JSON object."""

    def json(self) -> Mapping[str, Any]:
        """Return the keys of the JSON object, without its schema."""
        ...

    def text(self) -> Iterable[str]:
        """Return the lines for people."""
        ...


class Facts(NamedTuple):
    """A result that consists of the keys of its JSON object and of its lines for people."""

    keys: Mapping[str, Any]
    lines: Iterable[str]

    def json(self) -> Mapping[str, Any]:
        """Return the keys of the JSON object, without its schema."""
        return self.keys

    def text(self) -> Iterable[str]:
        """Return the lines for people."""
        return self.lines


def print_result(context: CliContext, schema: str, result: CommandResult) -> None:
    """Print a result as one JSON object with --json, otherwise as lines."""
    if context.json:
        print_json(schema, **result.json())
        return
    for line in result.text():
        click.echo(line, color=True)  # its text has colours only where they are wanted


def schema_of(name: str) -> dict[str, str]:
    """Return the first key of every JSON object: its schema, for example `croupier/run/1`."""
    return {"schema": f"croupier/{name}/{SCHEMA_NUMBERS.get(name, 1)}"}


def print_json(schema: str, **facts: Any) -> None:
    """Print one JSON object with its schema."""
    import msgspec

    click.echo(msgspec.json.format(_encoded(schema, facts), indent=1).decode())


def print_json_line(schema: str, **facts: Any) -> None:
    """Print one JSON object with its schema on a single line."""
    click.echo(_encoded(schema, facts).decode())


def _encoded(schema: str, facts: Mapping[str, Any]) -> bytes:
    import msgspec

    from host.base.value_types import plain_word

    return msgspec.json.encode({**schema_of(schema), **facts}, enc_hook=plain_word)


def print_problems(error: UserError, as_json: bool) -> int:
    """Print all problems of an error, and return its exit code.

    With `as_json`, print one JSON object to standard output, with the keys of the first problem at its top level.
    Otherwise print a text to standard error.
    """
    if as_json:
        problems = [problem.json() for problem in error.problems]
        try:
            click.echo(json.dumps(schema_of("error") | problems[0] | {"exit": error.exit_code, "problems": problems}))
            return error.exit_code
        except OSError:  # the problem may be that standard output cannot be written
            as_json = False
    if not as_json:
        for problem in error.problems:
            click.echo(fit_width(str(problem)) if sys.stderr.isatty() else str(problem), err=True)
    return error.exit_code


def fit_width(text: str) -> str:
    """Wrap the lines of a text at MAX_COLUMNS."""
    lines = text.splitlines()
    return "\n".join(part for line in lines for part in (_wrapped(line) if len(line) > MAX_COLUMNS else [line]))


def _wrapped(line: str) -> list[str]:
    import textwrap

    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(line, MAX_COLUMNS, subsequent_indent=indent, break_long_words=True, break_on_hyphens=False)


def usage_error(error: click.ClickException) -> UserError:
    """Convert an error of click to a UserError.

    The message of click has four lines, and its text depends on the version of click.
    """
    message, near, example = error.format_message(), "", ""
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = context.command_path if context else "croupier"
    if isinstance(error, click.NoSuchOption):
        near = next(iter(error.possibilities or ()), "")
        message = f"there is no option {error.option_name!r}" + (f"; did you mean {near} ?" if near else "")
    elif isinstance(error, click.MissingParameter) and error.param is not None:
        parameter = error.param
        name = parameter.human_readable_name if isinstance(parameter, click.Argument) else parameter.opts[-1]
        message, example = f"{name} is missing", _example(command)
    elif context and isinstance(context.command, click.Group) and (found := re.match(NO_COMMAND, message)):
        message = unknown_name("command", found[1], context.command.list_commands(context))
    if found := re.fullmatch(r"Got unexpected extra argument \((.+)\)", message.removesuffix(".")):
        message += ": -C DIR names the folder of a tournament" if Path(found[1]).exists() else ""
    hint = f"{command} --help" + (f"; for example  croupier {example}" if example else "")
    return UserError([Problem("U001", "", message.removesuffix("."), hint=hint)], error.exit_code)


def _example(command_path: str) -> str:
    """Return the first example of a command, for example of "croupier season final"; empty if it has none."""
    from host.cli.examples import EXAMPLES

    command = command_path.removeprefix("croupier ")
    examples = EXAMPLES.get(command.partition(" ")[0], ())
    return next((words for words in examples if words.startswith(command)), "")


NO_COMMAND = "No such command '(.+?)'"  # as click says it
MAX_COLUMNS = 100  # of a message on a terminal

GROUPS = frozenset({"season", "seed"})
"""The commands that have commands of their own."""

GLOBAL_OPTIONS = {"-C": 1, "--json": 0, "-q": 0, "--quiet": 0, "-v": 0, "--verbose": 0, "--color": 1}
"""The global options, and the number of values of each."""


EXECUTING_RULES = frozenset({"ask", "export", "faults", "replay", "report", "verify", "season verify"})
"""The commands that play recorded tables in their own process."""

WITHOUT_FOLDER = frozenset({"new", "init", "doctor", "games", "explain"})
"""The commands that do not need the folder of a tournament."""

NAMED_COMMAND = re.compile(rf"\bcroupier ({'|'.join(COMMANDS.keys() - WITHOUT_FOLDER)})\b(?! --help)")


def in_folder(text: str, folder: str) -> str:
    """Return a text in which the commands have the option -C `folder`, so that the user can run them as they are.

    Return the text unchanged if `folder` is the current folder. Commands that need no folder do not get the option.
    """
    if Path(folder) == Path():
        return text
    return NAMED_COMMAND.sub(lambda found: f"croupier -C {shlex.quote(folder)} {found[1]}", text)


def _completed(error: UserError, arguments: Sequence[str]) -> UserError:
    """Return an error in whose texts all commands have the folder that the user gave with -C.

    A hint about the usage names the help of the command.
    """
    folder = ([folder for option, folder in pairwise(arguments) if option == "-C"] or ["."])[-1]
    usage = f"croupier {command_of(arguments)} --help"
    problems = [
        problem._replace(
            message=in_folder(problem.message, folder),
            hint=usage if problem.hint == USAGE_HINT else in_folder(problem.hint, folder),
        )
        for problem in error.problems
    ]
    return UserError(problems, error.exit_code)


def global_options_first(words: Sequence[str]) -> list[str]:
    """Return the words with the global options first, so that users may also write these after the command."""
    first: list[str] = []
    others: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            others += [word, *rest]
        elif word in GLOBAL_OPTIONS:
            first += [word, *islice(rest, GLOBAL_OPTIONS[word])]
        elif word.startswith("--color="):
            first.append(word)
        else:
            others.append(word)
    return [*first, *others]


def command_of(arguments: Sequence[str]) -> str:
    """Return the command that these words name, for example `season verify`; "" if they name none."""
    rest = iter(arguments)
    for word in rest:
        if word in GLOBAL_OPTIONS:
            [*islice(rest, GLOBAL_OPTIONS[word])]
        elif not word.startswith("-"):
            return f"{word} {next(rest, '')}".strip() if word in GROUPS else word
    return ""


def executes_rules(arguments: Sequence[str]) -> bool:
    """Return whether these words are a command that plays tables in its own process."""
    return command_of(arguments) in EXECUTING_RULES and not {"-h", "--help"} & {*arguments}


def main(words: Sequence[str] | None = None) -> None:
    """Run a command line, and exit. `words` are its arguments; None: the arguments of the process.

    Exit codes: 0 success, 1 negative result, 2 wrong usage, 3 error in a config, 4 a bot does not build or start,
    5 interrupted, 6 the machine lacks something, 7 a game has left fixtures without a result, 8 `compare` is undecided,
    70 internal error, 130 ^C.
    """
    arguments = global_options_first(sys.argv[1:] if words is None else words)
    as_json = "--json" in arguments and sys.stdout is not None
    _open_standard_descriptors()
    try:
        if sys.stdout is None:
            raise UserError([Problem("R013", "standard output", "is closed", hint="to discard it:  > /dev/null")], 6)
        if words is None and executes_rules(arguments):
            from host.cli.guard import continue_in_child

            continue_in_child()
        code = group.main(args=arguments, prog_name="croupier", standalone_mode=False)
    except click.exceptions.Exit as ended:
        code = ended.exit_code
    except click.ClickException as error:
        code = print_problems(_completed(usage_error(error), arguments), as_json)
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except SystemExit:  # click raises it when the reader of a pipe has gone: `croupier games | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except BaseException as error:  # also an exception group that contains a UserError or ^C
        cause = cause_of(error)
        if isinstance(cause, KeyboardInterrupt):
            code = 130
        elif isinstance(cause, BrokenPipeError) and _reader_has_gone():  # in a run: `croupier run --json | head -1`
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            code = 5
        else:
            known = cause if isinstance(cause, UserError) else _own_code_error(cause)
            known = known or system_error(cause, used_folders(arguments))
            failed = known or internal_error(cause, {"-v", "--verbose"} & {*arguments})
            code = print_problems(_completed(failed, arguments), as_json)
    if code and sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError:  # the error is printed already; at its own flush Python would end with another code
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code if isinstance(code, int) else 0)


def _own_code_error(cause: BaseException) -> UserError | None:
    """Return the error of an exception that the organiser's code raised; None for any other exception."""
    from host.rules.catalogue import own_code_error

    return own_code_error(cause)


def _open_standard_descriptors() -> None:
    """Connect the closed ones of the descriptors 0, 1 and 2 to /dev/null.

    Otherwise the next file that is opened, for example the journal, would get such a number.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(opened, True)
    os.close(opened)


def _reader_has_gone() -> bool:
    """Return whether standard output is a pipe that nobody reads any more."""
    poll = select.poll()
    poll.register(1, 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))


def used_folders(arguments: Sequence[str]) -> list[Path]:
    """Return the folders in which a command writes: the one given with -C, or the current one, and the cache."""
    chosen = [Path(folder) for option, folder in pairwise(arguments) if option == "-C"] or [Path()]
    with contextlib.suppress(OSError):
        chosen.append(cache_dir())
    return chosen


def internal_error(cause: BaseException, verbose: Collection[str]) -> UserError:
    """Write the traceback of an unexpected exception to a file, and return an error that names the file.

    The error has the exit code 70, so that it does not look like the fault of a bot. If `verbose` is not empty, the
    error has the traceback, too.
    """
    import tempfile
    import traceback

    trace = "".join(traceback.format_exception(cause))
    try:
        with tempfile.NamedTemporaryFile("w", prefix="croupier-", suffix=".txt", delete=False) as report:
            report.write(trace)
        where = f"the report is {report.name}"
    except OSError as failed:  # for example a full disk
        where, verbose = f"no report could be written ({failed.strerror}); it is printed above", {"-v"}
    last_line = (str(cause).strip().splitlines() or [""])[-1][:300]
    message = f"internal error of croupier: {type(cause).__name__}: {last_line}"
    return UserError([Problem("H001", "", message, trace if verbose else "", where)], 70)
