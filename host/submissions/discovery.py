"""Bots as their authors handed them in, found: a folder with bot.toml, or a lone file."""

import glob
import os
import stat
from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from host.base.config_file import InvalidValue, Toml, closest_match, display_path, load_model, read_untrusted, to_toml
from host.base.errors import Problem, UserError
from host.sandbox.limits import Limits
from host.submissions.bot_spec import MANIFEST, Spec
from host.submissions.executable_checks import program_problems, runnable
from host.submissions.file_tree import FileTree, SingleFile
from host.submissions.languages import ANY, LANGUAGES, Language, language_of
from host.submissions.manifest import Manifest, adapter_of, bot_name, contradictions, limits_exceeded
from host.submissions.sample_bots import PREFIX, sample, samples

DEFAULT_LIMITS = Limits()
SHOWN = 20  # problems of one manifest: a stranger may have made thousands


def load_spec(path: Path, granted: Limits = DEFAULT_LIMITS) -> Spec:
    """Return the bot that a file or folder is, its limits at most those granted.

    Raise Refused with everything that is wrong: exit code 2 when nothing is there, 3 for its bot.toml, 4 for its files.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow links
    try:
        status = path.lstat()
    except OSError as error:
        near = closest_match(path.name, (each.name for each in path.parent.glob("*"))) if path.parent.is_dir() else ""
        hint = display_path(path.with_name(near)) if near else "a bot is named by a file, a folder, or sample:NAME"
        raise UserError(
            [Problem("C012", display_path(path), f"no bot is here: {error.strerror}", hint=hint)], 2
        ) from None
    if stat.S_ISDIR(status.st_mode):
        return _from_folder(path, FileTree(path), granted)
    contents = SingleFile(path, status)
    _refuse_if(contents.problems)
    return _from_file(path, contents, granted)


class Entry(NamedTuple):
    """A bot that has been entered: what it is, or what is wrong with it."""

    place: Path
    spec: Spec | None
    problems: tuple[Problem, ...] = ()

    @property
    def name(self) -> str:
        """What it is called, as far as anybody can tell."""
        if self.spec:
            return self.spec.name
        return self.place.name if self.place.is_dir() else self.place.stem


def discover(patterns: Sequence[str], base: Path, game: str = "", granted: Limits = DEFAULT_LIMITS) -> list[Entry]:
    """Return what patterns mean, each once, in the order of the patterns, with whatever is wrong with any of them."""
    found = [_entered(place, game, granted) for place in expand_patterns(patterns, base, game)]
    for name, count in Counter(entry.spec.name for entry in found if entry.spec).items():
        if count > 1:
            twins = [entry for entry in found if entry.spec and entry.spec.name == name]
            at = ", ".join(_place(twin.spec) for twin in twins if twin.spec)
            told = f"{count_word(count)} bots are called {to_toml(name)}: {at}"
            problem = Problem("C003", "", told, hint="name = … in bot.toml")
            found = [
                entry._replace(problems=(*entry.problems, problem)) if entry in twins else entry for entry in found
            ]
    return found


def _entered(place: Path, game: str, granted: Limits) -> Entry:
    try:
        spec = load_spec(place, granted)
    except UserError as refused:
        return Entry(place, None, tuple(refused.problems))
    if game and spec.game not in ("", game):
        problem = Problem("C015", spec.manifest, f"{spec.name} plays {spec.game}, and this is {game}")
        return Entry(place, spec, (problem._replace(hint=f'game = "{game}", or take it out of `bots`'),))
    return Entry(place, spec)


def refuse_broken(entered: Sequence[Entry]) -> None:
    """Raise Refused with everything that is wrong, each once."""
    _refuse_if(list(dict.fromkeys(problem for entry in entered for problem in entry.problems)))


def load_specs(patterns: Sequence[str], base: Path, game: str = "", granted: Limits = DEFAULT_LIMITS) -> list[Spec]:
    """Return the bots that patterns mean, each once, in the order of the patterns; raise Refused with every problem."""
    found = discover(patterns, base, game, granted)
    refuse_broken(found)
    return [entry.spec for entry in found if entry.spec]


def count_word(count: int) -> str:
    """Return a small number in words."""
    return {2: "two", 3: "three", 4: "four"}.get(count, str(count))


def expand_patterns(patterns: Sequence[str], base: Path, game: str = "") -> list[Path]:
    """Return the files and folders that patterns mean, each once: globs from `base`, and `sample:NAME`.

    Hidden files and READMEs are no bots. Raise Refused for a name that means nothing; a pattern may mean nothing.
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


def _matches(pattern: str, base: Path, game: str) -> list[Path]:
    if pattern.startswith(PREFIX):
        name = pattern.removeprefix(PREFIX)
        if glob.has_magic(name):
            return [place for known, place in samples(game).items() if fnmatchcase(known, name)]
        return [sample(name, game)]
    if not glob.has_magic(pattern):
        place = base / pattern
        if not os.path.lexists(place):
            near = closest_match(place.name, (each.name for each in place.parent.glob("*")))
            hint = (
                str(PurePosixPath(pattern).with_name(near))
                if near
                else f"nothing of that name is in {display_path(base)}"
            )
            raise UserError([Problem("C012", "", f"{to_toml(pattern)} is no bot", hint=hint)], 3)
        return [Path(os.path.abspath(place))]  # noqa: PTH100 - Path.resolve would follow links
    names = sorted(glob.glob(pattern, root_dir=base, recursive=True))  # noqa: PTH207 - takes absolute patterns too
    return [
        Path(os.path.abspath(base / name))  # noqa: PTH100
        for name in names
        if not Path(name).name.startswith(("README", "__")) and Path(name).suffix != ".md"
    ]


def disambiguate(specs: Sequence[Spec]) -> list[Spec]:
    """Return the bots with names of their own: the second of one name is called `name#2`."""
    seen: Counter[str] = Counter()
    apart = []
    for spec in specs:
        seen[spec.name] += 1
        number = seen[spec.name]
        apart.append(spec if number == 1 else spec._replace(name=f"{spec.name}#{number}"))
    return apart


def _place(spec: Spec) -> str:
    return display_path(spec.folder if spec.manifest or len(spec.files) != 1 else spec.folder / spec.files[0])


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


def _from_file(path: Path, contents: FileTree, granted: Limits) -> Spec:
    row = language_of(path.suffix)
    problems = _name(path, path.stem)
    if row.is_executable:
        problems += program_problems(contents, path.name)
    problems += row.source_problems(contents, path.name, Manifest())
    _refuse_if(problems)
    return Spec(
        path.stem,
        path.parent,
        (path.name,),
        row.name,
        entry=path.name if row.has_entry else "",
        sources=() if row.has_entry else (path.name,),
        limits=granted,
    )


def _from_folder(folder: Path, contents: FileTree, granted: Limits) -> Spec:
    toml = Toml(contents.where(""), {}, {})
    said = Manifest()
    if MANIFEST in contents.modes:
        try:
            toml = read_untrusted(folder / MANIFEST)
            said = load_model(toml, Manifest)
        except UserError as refused:
            raise UserError([*refused.problems[:SHOWN], *contents.problems], 3) from None
    _refuse_if(contents.problems)
    problems = [] if said.name else _name(folder, folder.name)
    language, unclear = _language(contents, said, toml)
    problems += unclear
    sources, entry = said.sources, said.entry
    if language and not unclear:
        row = LANGUAGES[language]
        if not sources and not row.has_entry:
            sources = tuple(_of_language(contents, row))
        if not entry and not said.run and row.has_entry:
            entry, unclear = _entry(contents, row, toml)
            problems += unclear
        problems += _missing(contents, said, toml)
        problems += contradictions(said, language, toml)
        if row.is_executable or (said.run and not said.build):
            problems += _run_problems(contents, said, entry, toml)
        if row.has_entry:
            problems += row.source_problems(contents, entry, said)
        if not (sources or entry or said.run or said.build or problems):
            needed = f"has no source file of {language}"
            problems.append(
                Problem("B014", contents.where(""), needed, contents.listing(), 'sources = ["…"] in bot.toml')
            )
    problems += limits_exceeded(said, granted, toml)
    _refuse_if(problems)
    return Spec(
        name=said.name or folder.name,
        folder=folder,
        files=contents.names,
        language=language,
        author=said.author,
        game=said.game or (adapter.game if (adapter := adapter_of(said)) else ""),
        protocol=said.protocol,
        sources=sources,
        entry=entry,
        main=said.main,
        run=said.run,
        build=said.build,
        compiler=said.compiler,
        adapter=said.adapter,
        heap=said.heap,
        python=said.python,
        requires=said.requires,
        env=tuple(said.env.items()),
        needs=said.needs,
        parallel_tables=said.parallel_tables,
        table_ids=said.table_ids,
        lifetime=said.lifetime,
        warm=said.warm,
        state=said.state,
        state_lifetime=said.state_lifetime,
        limits=said.limits.with_defaults(granted).at_most(granted),
        manifest=toml.name if MANIFEST in contents.modes else "",
    )


# What a folder does not say.


def _of_language(contents: FileTree, row: Language) -> list[str]:
    return [name for name in contents.names if PurePosixPath(name).suffix in row.suffixes]


def _language(contents: FileTree, said: Manifest, toml: Toml) -> tuple[str, list[Problem]]:
    """Return the language of a folder: what it says, else the only one it has sources of."""
    if said.language or said.run or said.adapter:
        adapter = adapter_of(said)
        return said.language or (adapter.language if adapter else ANY.name), []
    mine = [name for name, row in LANGUAGES.items() if _of_language(contents, row)]
    if named := [name for name in mine if {said.entry, *said.sources} & set(_of_language(contents, LANGUAGES[name]))]:
        mine = named
    if len(mine) > 1:
        which = f"has sources of {' and '.join(mine)}: which is the bot?"
        return "", [
            Problem("B014", contents.where(""), which, contents.listing(), f'language = "{mine[0]}" in bot.toml')
        ]
    return (mine[0] if mine else ANY.name), []


def _entry(contents: FileTree, row: Language, toml: Toml) -> tuple[str, list[Problem]]:
    """Return the script or program that is run when bot.toml does not name it: the only one, or the one called so."""
    top = [name for name in contents.names if "/" not in name and name != MANIFEST]
    if row.is_executable:
        choice = [name for name in top if runnable(contents.start_of(name))] or (top if len(top) == 1 else [])
        wanted = f'run = ["./{choice[0]}"]' if choice else 'run = ["./…"], or language = "…"'
    else:
        choice = [name for name in top if name in _of_language(contents, row)]
        wanted = f'entry = "{choice[0]}"' if choice else 'entry = "…"'
    if len(choice) == 1:
        return choice[0], []
    usual = ("bot", "main", contents.folder.name, "turn")
    if not row.is_executable and (known := [name for name in choice if PurePosixPath(name).stem in usual]):
        return min(known, key=lambda name: usual.index(PurePosixPath(name).stem)), []
    what = "program" if row.is_executable else f"{row.name} file"
    told = f"has several: which {what} is the bot?" if choice else f"has no {what} to run"
    if row.is_executable and not choice and not toml.data:
        told = "has no source file of a language that is known, and no program"
    return "", [Problem("B014", toml.name, told, contents.listing(), f"{wanted} in bot.toml")]


def _missing(contents: FileTree, said: Manifest, toml: Toml) -> list[Problem]:
    """Return the files that a manifest names and the folder lacks; what its own commands make need not be there."""
    if said.build:
        return []
    named = [(("sources", number), name) for number, name in enumerate(said.sources)]
    named += [(("entry",), said.entry)] if said.entry else []  # type: ignore[list-item]
    return [
        Problem(
            "B008", toml.where(*key), f"{key[0]}: no file {to_toml(name)}", contents.listing(), _meant(name, contents)
        )
        for key, name in named
        if name not in contents.modes
    ]


def _meant(name: str, contents: FileTree) -> str:
    near = closest_match(name, contents.names)
    return f'did you mean "{near}"?' if near else "paths are relative to the folder of bot.toml"


def _run_problems(contents: FileTree, said: Manifest, entry: str, toml: Toml) -> list[Problem]:
    """Return what is wrong with the program of a bot of no known language."""
    first = said.run[0] if said.run else entry
    if said.build or (said.run and "/" not in first) or not first:
        return []  # made later, or looked for among the system's programs
    if first.startswith("/"):
        if Path(first).exists():
            return []
    else:
        name = str(PurePosixPath(first))
        if name in contents.modes:
            return program_problems(contents, name)
        if not said.run:
            return []  # an entry that is missing has been named
    message = f"run = {to_toml(said.run)}: no such file"
    return [Problem("B001", toml.where("run"), message, contents.listing(), _how_to_run(first, contents))]


def _how_to_run(first: str, contents: FileTree) -> str:
    """Return what the author of a `run` that names nothing probably wants to write."""
    mine, wanted = [name for name in contents.names if name != MANIFEST], PurePosixPath(first).name
    stems = [name for name in mine if PurePosixPath(name).stem.lower() == wanted.lower()]
    if near := stems[0] if stems else closest_match(wanted, mine):
        row = language_of(PurePosixPath(near).suffix)
        build = next((name for name in contents.names if name in ("build.sh", "make.sh", "Makefile")), "")
        if row.is_executable:
            return f'did you mean  run = ["./{near}"] ?'
        if not build:
            return f'did you mean  language = "{row.name}"  in the place of run?'
    for name, command in (("build.sh", "sh build.sh"), ("make.sh", "sh make.sh"), ("Makefile", "make")):
        if name in contents.modes:
            return f'did you mean  build = ["{command}"] ?'
    return "run names a file of this folder, ./NAME, or a program of the system"
