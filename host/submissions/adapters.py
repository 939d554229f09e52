"""Lets bots of older competitions play unchanged: `adapter = "simplepazaak"` in bot.toml adds files to a bot."""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.bots.bot_spec import BotSpec, Submission
from host.games import HOLDEM, PAZAAK
from host.submissions import sample_bots
from host.submissions.file_tree import FileTree
from host.submissions.languages import (
    JAVA,
    LANGUAGES,
    PYTHON,
    Command,
    Kit,
    Step,
    class_data,
    compiled_to_jar,
    java,
    script,
    source_text,
)

HOST = Path(__file__).parents[1]
"""The folder of the package host."""


class Adapter(NamedTuple):
    """A row of ADAPTERS: the game, language and protocol of a bot with this adapter, and how to build and run it.

    The adapter's kit is the sources in `sample_bots/adapters/NAME`. The build copies them next to the bot's own files.
    """

    name: str
    game: str
    language: str
    protocol: str
    build: Callable[[Submission, Command], list[Step]]
    run: Callable[[Submission, frozenset[str]], Command]
    lifetime: str = "fixture"
    warm: bool = False  # whether bots with this adapter have warm starts by default
    words: tuple[tuple[str, str], ...] = ()  # (pattern in the output of the compiler, our hint)
    extra: tuple[tuple[str, str], ...] = ()  # (path in the kit, file of the package host)
    marks: re.Pattern[bytes] = re.compile(rb"(?!)")  # a line that only sources for this adapter contain
    own_name: re.Pattern[str] = re.compile(r"(?!)")  # the line of a source that states the bot's own name


def kit(name: str) -> Path:
    """Return the folder of an adapter's kit."""
    return sample_bots.folder() / "adapters" / name


SOURCE_BYTES = 1 << 16  # of a source, in which marks and names are searched


def recognized(contents: FileTree, spec: BotSpec) -> Adapter | None:
    """Return the adapter for which a bot's sources were written. Return None if there is none.

    Return None also if bot.toml has `run`, `build`, `protocol` or `table_ids`, or contradicts the game or the language of
    the adapter. Return None, too, if a source of the bot is in a folder with the name of a folder that the adapter supplies.
    """
    if spec.run or spec.build or spec.protocol or spec.table_ids:
        return None
    for row in ADAPTERS.values():
        if spec.game not in ("", row.game) or spec.language not in ("", row.language):
            continue
        names = [name for name in contents.names if name.endswith(LANGUAGES[row.language].suffixes)]
        supplied = {part for name in sources(row) for part in PurePosixPath(name).parent.parts}
        if any(supplied.intersection(PurePosixPath(name).parent.parts) for name in names):
            continue  # the bot brings what the adapter would supply
        if any(row.marks.search(contents.start_of(name, SOURCE_BYTES)) for name in names):
            return row
    return None


def own_name(submission: Submission) -> str:
    """Return the name that a source of a bot with an adapter states as the bot's own; "" if there is none."""
    row = ADAPTERS.get(submission.spec.adapter)
    if row is None:
        return ""
    for name in submission.spec.sources or submission.files:
        if found := row.own_name.search(source_text(submission, name)):
            return one_line(found[1])
    return ""


def adapted(submission: Submission) -> Submission:
    """Return a bot with the values that its adapter sets. Return a bot without an adapter unchanged.

    Raise UserError (exit code 3) if the adapter is for another game.
    """
    if not submission.spec.adapter:
        return submission
    row = ADAPTERS[submission.spec.adapter]  # bot.toml has been validated, so the adapter exists
    if submission.spec.game not in ("", row.game):
        message = f'adapter = "{row.name}" is for {row.game}, not for {submission.spec.game}'
        raise UserError(
            [Problem("C013", submission.manifest or submission.name, message, hint=f'game = "{row.game}"')], 3
        )
    suffixes = LANGUAGES[row.language].suffixes
    return submission.with_keys(
        game=row.game,
        language=row.language,
        protocol=row.protocol,
        sources=submission.spec.sources or tuple(name for name in submission.files if name.endswith(suffixes)),
        warm=submission.spec.warm or row.warm,
        lifetime=row.lifetime if submission.spec.lifetime in ("", "fixture") else submission.spec.lifetime,
        parallel_tables=1
        if row.lifetime == "table"
        else submission.spec.parallel_tables,  # a process that lives for one table cannot play several
    )


def sources(row: Adapter) -> dict[str, Path]:
    """Return the files of an adapter's kit by their paths in the bot's folder."""
    folder, suffixes = kit(row.name), LANGUAGES[row.language].suffixes
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.suffix in suffixes}
    return found | {name: HOST / ours for name, ours in row.extra}


def add_kit(submission: Submission, staged: Path) -> None:
    """Copy the kit of a bot's adapter next to its own files. Raise UserError if the bot has a file of the same name."""
    row, conflicts = ADAPTERS[submission.spec.adapter], []
    for name, source in sorted(sources(row).items()):
        target = staged / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as laid:
                laid.write(source.read_bytes())
        except (FileExistsError, NotADirectoryError):
            conflicts.append(name)
            continue
        target.chmod(0o644)
        os.utime(target, (0, 0))
    if conflicts:
        message = f'has files that adapter = "{row.name}" supplies: {", ".join(conflicts)}'
        raise UserError([Problem("B019", submission.name, message, hint="submit the bot without them")], 4)


def advice(submission: Submission, words: str) -> str:
    """Return the adapter's hint on `words`, the output of a compiler; "" if it has none."""
    row = ADAPTERS.get(submission.spec.adapter)
    return next((ours for theirs, ours in row.words if re.search(theirs, words)), "") if row else ""


RUNNER = "croupier.SimplePazaak"
RETURNING = re.compile(r"\bAction\s+getResponse\s*\(")
"""A getResponse that returns its move. With the original controller, it stored the move in the field `action`."""


def simplepazaak(submission: Submission, *options: str) -> Command:
    """Return the command that runs a Java class of the competition of 2015.

    The kit's runner finds the class by the name in `main`; without `main`, it takes the only class. `options` are for the JVM.
    """
    return (
        *java(submission.with_keys(main=RUNNER), *options),
        *([submission.spec.main] if submission.spec.main else []),
    )


def build_simplepazaak(submission: Submission, _question: Command) -> list[Step]:
    """Return the steps that compile the class and the kit, then search for the class.

    So a missing class is an error of the build. The search does not instantiate the class, because its constructor
    could write a file.
    """
    texts = (source_text(submission, name) for name in submission.spec.sources)
    path = "returning:." if any(map(RETURNING.search, texts)) else "."
    ours = (RUNNER.replace(".", "/") + ".java", "Mechanics/PazaakGameMain.java")  # javac finds what these import
    return [
        *compiled_to_jar(submission, "-sourcepath", path, *ours),
        Step(simplepazaak(submission, "-Dfind=true")),
        Step(simplepazaak(submission, "-Dfind=true", "-XX:ArchiveClassesAtExit=bot.jsa"), optional=True),
    ]


def run_simplepazaak(submission: Submission, files: frozenset[str]) -> Command:
    """Return the command of the kit's runner, with its class-data archive if the build created one."""
    return simplepazaak(submission, *class_data(files))


BANKSALAD = "runner.py"


def build_banksalad(submission: Submission, _question: Command) -> list[Step]:
    """Return the step that loads turn.py once. So a missing `bet` is an error of the build, with file and line."""
    return [Step((*script(submission, BANKSALAD), "--check", submission.spec.entry))]


def run_banksalad(submission: Submission, _files: frozenset[str]) -> Command:
    """Return the command of the kit's runner. It loads turn.py and interrupts `bet` shortly before the time limit."""
    return (*script(submission, BANKSALAD), submission.spec.entry, f"{submission.limits.per_move:g}")


def default_command(submission: Submission) -> Command:
    """Return the command of an interpreter that stays alive and forks this bot; () if it cannot have warm starts."""
    files = sources(ADAPTERS[submission.spec.adapter]) if submission.spec.adapter else {}
    texts: Kit = {_module(name): (name, path.read_text()) for name, path in sorted(files.items())}
    warm = LANGUAGES[submission.spec.language].warm
    return warm.command(submission, texts) if warm and not warm.reason_against(submission) else ()


def _module(name: str) -> str:
    """Return the module name of a file of a kit."""
    return "__main__" if name == BANKSALAD else name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


GET_RESPONSE = (
    "public void getResponse(int[] wins, boolean isPlayerOne, Collection<Card> yourHand, Collection<Card> opponentHand, "
    "Collection<Card> yourSideDeck, int opponentSideDeckCount, Action opponentAction, boolean opponentDidPlay)"
)

BET = (
    "def bet(my_chips, my_cards, bet_players, betting_players, community_cards, min_bet_amt, max_bet_amt, "
    "total_bet_amt)"
)

ADAPTERS: Mapping[str, Adapter] = {
    row.name: row
    for row in (
        Adapter(
            name="simplepazaak",
            game=PAZAAK,
            language=JAVA.name,
            protocol="lines",
            build=build_simplepazaak,
            run=run_simplepazaak,
            marks=re.compile(rb"^[ \t]*import[ \t]+Mechanics\.", re.MULTILINE),
            own_name=re.compile(r'\bname[ \t]{0,9}=[ \t]{0,9}"([^"\n]{1,60})"'),
            words=(
                (
                    r"final variable HAND_GOAL",
                    "the goal is final here: in 2015 a bot won by overwriting it for everybody. It would change nothing "
                    "outside the bot's own process now; remove the assignment",
                ),
                (
                    r"abstract method getResponse|does not override or implement|getResponse\([^(\n]* in Player",
                    f"a class that extends Player leaves its move in the fields `action` and `cardToPlay` in {GET_RESPONSE}",
                ),
                (r"symbol: +(class|variable) Action\b", "outside a class that extends Player it is `Player.Action`"),
            ),
        ),
        Adapter(
            name="banksalad",
            game=HOLDEM,
            language=PYTHON.name,
            protocol="lines",
            build=build_banksalad,
            run=run_banksalad,
            lifetime="table",
            warm=True,
            marks=re.compile(
                rb"^from[ \t]+\.(?:core[. \t]|player[ \t]|[ \t]+import[ \t]+(?:core|player)\b)"
                rb"|^def[ \t]+bet\([ \t\r\n]{0,40}my_chips\b",
                re.MULTILINE,
            ),
            words=(("there is no function named bet", f"croupier calls {BET}"),),
            extra=(("holdem/core/hands.py", "games/hands.py"),),
        ),
    )
}
