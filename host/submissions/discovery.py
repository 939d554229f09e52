"""Finds submitted bots: a folder with bot.toml, or a single file."""

import glob
import os
import re
import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from host.base.config_file import load_model, sorted_by_line
from host.base.errors import Problem, UserError, closest_match
from host.base.format import with_article
from host.base.paths import SAMPLE_PREFIX, absolute, display_path
from host.base.toml_file import Toml, read_untrusted, to_toml
from host.base.value_types import InvalidValue, OwnCode
from host.bots.bot_spec import MANIFEST, BotSpec, Submission, bot_name, limits_exceeded
from host.games import GAMES
from host.games.engine import Game
from host.rules.catalogue import of_library
from host.sandbox.limits import Limits
from host.submissions.adapters import ADAPTERS, recognized
from host.submissions.executable_checks import exists, program_problems, runnable
from host.submissions.file_tree import FileTree, SingleFile, submitted
from host.submissions.languages import (
    ANY,
    BUILD_FILES,
    LANGUAGES,
    Language,
    fallback_language,
    language_called,
    language_of,
    languages_with,
)
from host.submissions.sample_bots import sample, samples
from protocols import PROTOCOLS

DEFAULT_LIMITS = Limits()
MAX_BUILD_COMMANDS = 100
MAX_PROBLEMS_SHOWN = 20  # of one bot.toml; an untrusted author can write a file with thousands


def load_submission(path: Path, granted: Limits = DEFAULT_LIMITS, game: Game | None = None) -> Submission:
    """Return the bot in a file or folder, with limits of at most those granted.

    Its bot.toml may name `game` even if that is not one of croupier's own games. Raise UserError with all problems:
    exit code 2 if the path does not exist, 3 for its bot.toml, 4 for its files.
    """
    path = absolute(path)
    try:
        status = path.lstat()
    except OSError as error:
        near = closest_match(path.name, (each.name for each in path.parent.glob("*"))) if path.parent.is_dir() else ""
        hint = display_path(path.with_name(near)) if near else "a bot is named by a file, a folder, or sample:NAME"
        raise UserError(
            [Problem("C012", display_path(path), f"there is no bot here: {error.strerror}", hint=hint)], 2
        ) from None
    if stat.S_ISDIR(status.st_mode):
        return _from_folder(path, FileTree(path, submitted(granted.submission)), granted, game)
    contents = SingleFile(path, status, submitted(granted.submission))
    _refuse_if(contents.problems)
    return _from_file(path, contents, granted)


class Entry(NamedTuple):
    """A bot of the tournament: its submission, or the problems that prevent loading it."""

    path: Path
    submission: Submission | None
    problems: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        """Return the bot's name; the name of its file or folder if the submission cannot be loaded."""
        if self.submission:
            return self.submission.name
        return self.path.name if self.path.is_dir() else self.path.stem

    @property
    def playable(self) -> Submission:
        """Return the submission. Raise UserError with all problems if there is any."""
        refuse_broken([self])
        assert self.submission is not None  # otherwise there are problems
        return self.submission


def discover(
    patterns: Sequence[str], base: Path, game: Game | None = None, granted: Limits = DEFAULT_LIMITS
) -> list[Entry]:
    """Return the bots that match the patterns, with their problems: each bot once, in the order of the patterns.

    Each bot whose name another bot has, too, gets a problem.
    """
    found = [load_entry(place, game, granted) for place in expand_patterns(patterns, base, game)]
    for name, count in Counter(entry.submission.name for entry in found if entry.submission).items():
        if count > 1:
            twins = [entry for entry in found if entry.submission and entry.submission.name == name]
            at = ", ".join(location(twin.submission) for twin in twins if twin.submission)
            message = f"{count_word(count)} bots are called {to_toml(name)}: {at}"
            problem = Problem("C003", "", message, hint="name = … in bot.toml")
            found = [
                entry._replace(problems=(*entry.problems, problem)) if entry in twins else entry for entry in found
            ]
    return found


def load_entry(place: Path, game: Game | None, granted: Limits) -> Entry:
    """Return the bot in a file or folder, or its problems. A game in bot.toml that is not `game` is a problem."""
    try:
        submission = load_submission(place, granted, game)
    except UserError as refused:
        return Entry(place, None, tuple(refused.problems))
    if game and submission.spec.game not in ("", game.name):
        problem = Problem(
            "C015", submission.manifest, f"{submission.name} plays {submission.spec.game}, and this is {game.name}"
        )
        hint = f'game = "{game.name}", or remove it from `bots`'
        if adapter := ADAPTERS.get(submission.spec.adapter):
            hint = f"the adapter {adapter.name} plays {adapter.game} only: -g {adapter.game}, or remove it from `bots`"
        return Entry(place, submission, (problem._replace(hint=hint),))
    return Entry(place, submission)


def refuse_broken(entered: Sequence[Entry]) -> None:
    """Raise UserError with all problems of the entries, each once. Do nothing if no entry has a problem."""
    _refuse_if(list(dict.fromkeys(problem for entry in entered for problem in entry.problems)))


def load_submissions(
    patterns: Sequence[str], base: Path, game: Game | None = None, granted: Limits = DEFAULT_LIMITS
) -> list[Submission]:
    """Return the bots that match the patterns, each once, in the order of the patterns. Raise UserError with all problems."""
    found = discover(patterns, base, game, granted)
    refuse_broken(found)
    return [entry.submission for entry in found if entry.submission]


def count_word(count: int) -> str:
    """Return a count as text: "two", "three" and "four" as words, all others in digits."""
    return {2: "two", 3: "three", 4: "four"}.get(count, str(count))


def expand_patterns(patterns: Sequence[str], base: Path, game: Game | None = None) -> list[Path]:
    """Return the files and folders that match the patterns, each once.

    A pattern is `sample:NAME`, or a glob relative to `base`. A glob leaves out hidden files, Markdown files, and names
    that begin with `README` or `__`. A glob may match nothing. Raise UserError (exit code 3) for a name that does not
    exist.
    """
    found: dict[Path, None] = {}
    problems = []
    for pattern in patterns:
        try:
            found |= dict.fromkeys(_matches(pattern, base, game))
        except UserError as refused:
            problems += refused.problems
    if problems:
        raise UserError(problems, 3)
    return list(found)


def _matches(pattern: str, base: Path, game: Game | None) -> list[Path]:
    if pattern.startswith(SAMPLE_PREFIX):
        name = pattern.removeprefix(SAMPLE_PREFIX)
        if glob.has_magic(name):
            return [place for known, place in samples(game.name if game else "").items() if fnmatchcase(known, name)]
        return [sample(name, game.name if game else "")]
    if not glob.has_magic(pattern):
        place = base / pattern
        if not os.path.lexists(place):
            near = closest_match(place.name, (each.name for each in place.parent.glob("*")))
            hint = (
                str(PurePosixPath(pattern).with_name(near))
                if near
                else f"nothing in {display_path(base)} has that name"
            )
            raise UserError([Problem("C012", "", f"{to_toml(pattern)} is not a bot", hint=hint)], 3)
        return [absolute(place)]
    _list_fixed_part(pattern, base)
    names = sorted(glob.glob(pattern, root_dir=base, recursive=True))  # noqa: PTH207 - takes absolute patterns too
    return [
        absolute(base / name)
        for name in names
        if not Path(name).name.startswith(("README", "__")) and Path(name).suffix != ".md"
    ]


def _list_fixed_part(pattern: str, base: Path) -> None:
    """Raise PermissionError if the folder before a pattern's first wildcard cannot be read.

    `glob` would find nothing in such a folder, and report no error.
    """
    fixed = takewhile(lambda part: not glob.has_magic(part), Path(pattern).parts)
    folder = base.joinpath(*fixed)
    if folder.is_dir():
        with os.scandir(folder):
            pass


def disambiguate(submissions: Sequence[Submission]) -> list[Submission]:
    """Return the bots with unique names: the second bot with the same name becomes `name#2`, the third `name#3`."""
    seen: Counter[str] = Counter()
    apart = []
    for submission in submissions:
        seen[submission.name] += 1
        number = seen[submission.name]
        apart.append(submission if number == 1 else submission.with_keys(name=f"{submission.name}#{number}"))
    return apart


def location(submission: Submission) -> str:
    """Return the path of a bot for people: its folder, or its only file."""
    return display_path(
        submission.folder
        if submission.manifest or len(submission.files) != 1
        else submission.folder / submission.files[0]
    )


def _refuse_if(problems: Sequence[Problem]) -> None:
    if problems:
        raise UserError(list(problems), 3 if any(problem.code[0] == "C" for problem in problems) else 4)


def _name(path: Path, name: str) -> list[Problem]:
    try:
        bot_name(name)
    except InvalidValue as wrong:
        hint = 'rename it, or name = "…" in a bot.toml'
        return [Problem("C009", display_path(path), f"the bot's name {to_toml(name)} {wrong.message}", hint=hint)]
    return []


def _from_file(path: Path, contents: FileTree, granted: Limits) -> Submission:
    row = language_of(path.suffix)
    if row.is_executable and not runnable(contents.start_of(path.name)):
        row = fallback_language(path.suffix)
    problems = _name(path, path.stem)
    if row.is_executable:
        problems += program_problems(contents, path.name)
    problems += row.source_problems(contents, path.name, BotSpec())
    _refuse_if(problems)
    adapter = recognized(contents, BotSpec())
    spec = BotSpec(
        name=path.stem,
        game=adapter.game if adapter else "",
        language=row.name,
        entry=path.name if row.has_entry else "",
        sources=() if row.has_entry else (path.name,),
        adapter=adapter.name if adapter else "",
    )
    return Submission(spec, path.parent, (path.name,), limits=spec.limits_within(granted))


def _from_folder(folder: Path, contents: FileTree, granted: Limits, game: Game | None) -> Submission:
    toml, spec = _read_spec(folder, contents, game.name if game else "")
    return described(folder, contents, toml, spec, granted, game if game and game.name == spec.game else None)


def described(
    folder: Path, contents: FileTree, toml: Toml, spec: BotSpec, granted: Limits, game: Game | None = None
) -> Submission:
    """Return the bot in a folder. `toml` and `spec` are its bot.toml, with line numbers and as values.

    Raise UserError as `load_submission` does.
    """
    _refuse_if(contents.problems)
    if not spec.adapter and (found := recognized(contents, spec)):
        spec = replace(spec, adapter=found.name)
    problems = [] if spec.name else _name(folder, folder.name)
    language, unclear = _language(contents, spec, toml)
    problems += unclear
    sources, entry = spec.sources, spec.entry
    if language and not unclear:
        row = LANGUAGES[language]
        if not sources and not row.has_entry:
            sources = tuple(_of_language(contents, row))
        if not entry and not spec.run and row.has_entry:
            entry, unclear = _entry(contents, row, toml)
            problems += unclear
        problems += _missing(contents, spec, toml)
        problems += contradictions(spec, language, toml, game)
        if row.is_executable or (spec.run and not spec.build):
            problems += _run_problems(contents, spec, entry, toml)
        if row.has_entry:
            problems += row.source_problems(contents, entry, spec)
        if not (sources or entry or spec.run or spec.build or problems):
            needed = f"has no source file of {language}"
            problems.append(
                Problem("B014", contents.where(""), needed, contents.listing(), 'sources = ["…"] in bot.toml')
            )
    problems += limits_exceeded(spec, granted, toml)
    _refuse_if(problems)
    adapter = ADAPTERS.get(spec.adapter)
    return Submission(
        spec=replace(
            spec,
            name=spec.name or folder.name,
            game=spec.game or (adapter.game if adapter else ""),
            language=language,
            sources=sources,
            entry=entry,
        ),
        folder=folder,
        files=contents.names,
        limits=spec.limits_within(granted),
        manifest=toml.name if MANIFEST in contents.modes else "",
        game=game,
    )


# The bot.toml.


def _read_spec(folder: Path, contents: FileTree, game: str) -> tuple[Toml, BotSpec]:
    """Return a folder's bot.toml, with line numbers and as values. Raise UserError (exit code 3) with all problems."""
    if MANIFEST not in contents.modes:
        if not contents.problems and (folder / MANIFEST).is_dir():
            raise UserError([Problem("C011", contents.where(MANIFEST), "cannot be read: it is a folder")], 3)
        return Toml(contents.where(""), {}, {}), BotSpec()
    problems: list[Problem] = []
    try:
        toml = read_untrusted(folder / MANIFEST)
        value = toml.data.get("game")
        if isinstance(value, str) and (value == game or of_library(value)):  # a command that needs the game loads it
            toml.data["game"] = OwnCode(value, value, None)
        problems = _unknown_names(toml)
        spec = load_model(toml, BotSpec)
    except UserError as refused:
        problems = sorted_by_line([*problems, *refused.problems])
    if problems:
        raise UserError([*problems[:MAX_PROBLEMS_SHOWN], *contents.problems], 3)
    return toml, spec


def _unknown_names(toml: Toml) -> list[Problem]:
    """Return a problem for each language, compiler and adapter that croupier does not know."""
    compilers = [name for row in LANGUAGES.values() for name in row.compilers]
    choices = (
        ("language", list(LANGUAGES), "language"),
        ("compiler", compilers, "known Lisp compiler"),
        ("adapter", list(ADAPTERS), "adapter"),
    )
    problems = []
    for key, known, what in choices:
        value = toml.data.get(key, "")
        if isinstance(value, str) and value and value not in known:
            meant = language_called(value) if key == "language" else None  # "c++", "js", "sbcl"
            hint = meant.name if meant else closest_match(value, known) or "one of " + ", ".join(known)
            problems.append(
                Problem("C008", toml.where(key), f"{key} = {to_toml(value)} is not {with_article(what)}", hint=hint)
            )
    return problems


def contradictions(spec: BotSpec, language: str, toml: Toml, game: Game | None) -> list[Problem]:
    """Return a problem for each key that contradicts the language, the adapter, the protocol or another key."""
    problems = []

    def against(key: str, message: str, hint: str) -> None:
        value = toml.data.get(key)
        problems.append(Problem("C013", toml.where(key), f"{key} = {to_toml(value)} {message}", hint=hint))

    for key in toml.data:
        if (languages := languages_with(key)) and language not in languages:
            against(key, f"has no effect for a bot in {language}", f"it is for {' and '.join(languages)}")
    if adapter := ADAPTERS.get(spec.adapter):
        for key in ("game", "language", "protocol"):
            if getattr(spec, key) not in ("", right := getattr(adapter, key)):
                against(key, f'contradicts adapter = "{adapter.name}"', f'{key} = "{right}", or no {key}')
        if spec.table_ids:
            against("table_ids", f'contradicts adapter = "{adapter.name}"', "remove it")
    protocol = (
        adapter.protocol
        if adapter
        else spec.protocol or (game.protocol if (game := game or GAMES.get(spec.game)) else "")
    )
    if protocol == "argv":
        for key, given in (
            ("table_ids", spec.table_ids),
            ("parallel_tables", spec.parallel_tables > 1),
            ("lifetime", "lifetime" in toml.data),
            ("models", bool(spec.models)),
        ):
            if given:
                against(key, "has no effect with argv, which starts a process per question", 'protocol = "lines"')
    elif spec.raw_arguments and protocol:
        against("raw_arguments", f"has no effect over {protocol}, which passes no arguments", 'protocol = "argv"')
    elif protocol and spec.lifetime and spec.lifetime not in (known := PROTOCOLS[protocol].lifetimes):
        against("lifetime", f"is not possible over {protocol}", " or ".join(f'lifetime = "{each}"' for each in known))
    if spec.table_ids and protocol and PROTOCOLS[protocol].repeats:
        against("table_ids", f"is not possible over {protocol}: a process knows one table", "remove it")
    if len(spec.build) > MAX_BUILD_COMMANDS:
        message = f"build has {len(spec.build)} commands; at most {MAX_BUILD_COMMANDS} are allowed"
        problems.append(Problem("C009", toml.where("build"), message, hint='build = ["sh build.sh"]'))
    for key, given in (("state_lifetime", spec.state_lifetime == "stage"), ("state_absent", spec.state_absent)):
        if given and (not spec.state or spec.state_is_folder):
            why = "is not possible for a folder" if spec.state else "needs `state`, which bot.toml does not set"
            against(key, why, 'state = "memory.bin"')
    if spec.state_lifetime == "stage" and spec.state_absent:
        against("state_absent", "is not possible for a file that is kept for a stage", 'state_lifetime = "fixture"')
    return problems


# Values for keys that bot.toml does not set.


TEST_SOURCE = re.compile(r"(^|/)src/test/|_test\.go$")
"""The names that build tools give to the tests of a project, which do not belong to the program."""


def _of_language(contents: FileTree, row: Language, *, fallback: bool = True) -> list[str]:
    suffixes = (*row.suffixes, *row.fallback_suffixes) if fallback else row.suffixes
    mine = [name for name in contents.names if PurePosixPath(name).suffix in suffixes]
    return [name for name in mine if not TEST_SOURCE.search(name)]


def _language(contents: FileTree, spec: BotSpec, toml: Toml) -> tuple[str, list[Problem]]:
    """Return the language of a folder's bot: the one that bot.toml sets, or else the only language of the sources.

    If the sources have several languages, return "" and the problem. If they have none, return `any`.
    """
    if spec.language or spec.run or spec.adapter:
        adapter = ADAPTERS.get(spec.adapter)
        return spec.language or (adapter.language if adapter else ANY.name), []
    mine = [name for name, row in LANGUAGES.items() if _of_language(contents, row, fallback=False)]
    if not mine and not any(runnable(contents.start_of(name)) for name in contents.names):
        mine = [name for name, row in LANGUAGES.items() if _of_language(contents, row)]
    if named := [name for name in mine if {spec.entry, *spec.sources} & set(_of_language(contents, LANGUAGES[name]))]:
        mine = named
    if len(mine) > 1:
        which = f"has sources of {' and '.join(mine)}: which is the bot?"
        return "", [
            Problem("B014", contents.where(""), which, contents.listing(), f'language = "{mine[0]}" in bot.toml')
        ]
    return (mine[0] if mine else ANY.name), []


def _entry(contents: FileTree, row: Language, toml: Toml) -> tuple[str, list[Problem]]:
    """Return the script or program to run if bot.toml does not name it: the only one, or the one with a usual name.

    If no file can be the one, or several can, return "" and the problem.
    """
    top = [name for name in contents.names if "/" not in name and name != MANIFEST]
    if row.is_executable:
        choice = [name for name in top if runnable(contents.start_of(name))] or (top if len(top) == 1 else [])
        wanted = f'run = ["./{choice[0]}"]' if choice else 'run = ["./…"], or language = "…"'
    else:
        mine = _of_language(contents, row)
        described = [name for name in top if fnmatchcase(name, row.project.file)]
        choice = described or [name for name in mine if name in top] or (mine if len(mine) == 1 else [])
        wanted = f'entry = "{choice[0]}"' if choice else 'entry = "…"'
    if len(choice) == 1:
        return choice[0], []
    usual = ("bot", "main", contents.folder.name, "turn")
    if not row.is_executable and (known := [name for name in choice if PurePosixPath(name).stem in usual]):
        return min(known, key=lambda name: usual.index(PurePosixPath(name).stem)), []
    what = "program" if row.is_executable else f"{row.name} file"
    message = f"has several: which {what} is the bot?" if choice else f"has no {what} to run"
    if row.is_executable and not choice and not toml.data:
        message = "has neither a source file of a known language nor a program"
    return "", [Problem("B014", toml.name, message, contents.listing(), f"{wanted} in bot.toml")]


def _missing(contents: FileTree, spec: BotSpec, toml: Toml) -> list[Problem]:
    """Return a problem for each file that bot.toml names but the folder does not have.

    If the bot has its own build commands, return no problems: the build may create the files.
    """
    if spec.build:
        return []
    named = [(("sources", number), name) for number, name in enumerate(spec.sources)]
    named += [(("entry",), spec.entry)] if spec.entry else []  # type: ignore[list-item]
    absent = [(key, name) for key, name in named if name not in contents.modes]
    return [
        Problem(
            "B008",
            toml.where(*key),
            f"{key[0]}: no file {to_toml(name)}",
            contents.listing(),
            _similar_name(name, contents),
        )
        for key, name in absent[:MAX_PROBLEMS_SHOWN]
    ]


def _similar_name(name: str, contents: FileTree) -> str:
    near = closest_match(name, contents.names)
    return f'did you mean "{near}"?' if near else "paths are relative to the folder of bot.toml"


def _run_problems(contents: FileTree, spec: BotSpec, entry: str, toml: Toml) -> list[Problem]:
    """Return the problems of the program of a bot that has a `run` in bot.toml, or has no known language."""
    first = spec.run[0] if spec.run else entry
    if spec.build or (spec.run and "/" not in first) or not first:
        return []  # the build creates it, or it is a program of the system
    if first.startswith("/"):
        if exists(first):
            return []
    else:
        name = str(PurePosixPath(first))
        if name in contents.modes:
            return program_problems(contents, name)
        if not spec.run:
            return []  # `_missing` has reported the entry
    message = f"run = {to_toml(spec.run)}: no such file"
    return [Problem("B001", toml.where("run"), message, contents.listing(), _how_to_run(first, contents))]


def _how_to_run(first: str, contents: FileTree) -> str:
    """Return a hint for a `run` that names a missing file: what its author probably meant."""
    mine, wanted = [name for name in contents.names if name != MANIFEST], PurePosixPath(first).name
    stems = [name for name in mine if PurePosixPath(name).stem.lower() == wanted.lower()]
    if near := stems[0] if stems else closest_match(wanted, mine):
        row = language_of(PurePosixPath(near).suffix)
        build = next((name for name in contents.names if name in BUILD_FILES), "")
        if row.is_executable:
            return f'did you mean  run = ["./{near}"] ?'
        if not build:
            return f'did you mean  language = "{row.name}"  in the place of run?'
    for name, command in BUILD_FILES.items():
        if name in contents.modes:
            return f'did you mean  build = ["{command}"] ?'
    return "run names a file of this folder, ./NAME, or a program of the system"
