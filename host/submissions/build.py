"""Builds submissions: copies them safely, compiles them in a sandbox, identifies them by hash."""

import fcntl
import hashlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import fields, replace
from functools import partial
from pathlib import Path, PurePosixPath
from types import MappingProxyType

import trio

from host.base import paths
from host.base.errors import LOG_PREFIX, Problem, UserError
from host.base.safe_text import escape_control_chars
from host.base.toml_file import to_toml
from host.bots.bot_spec import BotSpec, BuiltBot, Submission
from host.bots.monitor import REST_AFTER_COUNT, running_monitor, unwrap_exception_group
from host.bots.state_file import ABSENT_AT_FIRST
from host.sandbox.bubblewrap import Home
from host.sandbox.keeper import LOST, Ended, Keeper, KeeperOutOfMemory
from host.sandbox.launch import sandboxed
from host.sandbox.levels import Level
from host.sandbox.limits import GIB, KIB, MIB, Limits
from host.submissions import requirements
from host.submissions.adapters import ADAPTERS, adapted, add_kit, advice, default_command, sources
from host.submissions.file_tree import (
    BUILDING,
    BUILT,
    File,
    LimitExceeded,
    TreeLimits,
    copy_files,
    enlarged,
    exceeds,
    read_files,
    walk,
)
from host.submissions.headline import Output
from host.submissions.languages import (
    ANY,
    BUILD_FILES,
    JAVA,
    LANGUAGES,
    NEVER_WARM,
    PATH,
    Step,
    environment,
    in_a_home_folder,
    missing,
    need,
    own_build,
    tool,
)
from protocols.wire import FaultKind

BUILD_LIMITS = Limits(
    move=120, cpu=120, memory=2 * GIB, tasks=256, output=32 * KIB, files=256 * MIB, open_files=1024, state=0
)
BUILD_TIMEOUT_S = 240.0  # for all commands of a build together
OPTIONAL_STEP_TIMEOUT_S = 20.0  # for a step that may fail
ELF_MAGIC = b"\x7fELF"
LIMIT_MESSAGES = {
    FaultKind.MEMORY: f"took more than {BUILD_LIMITS.memory // GIB} GiB of memory",
    FaultKind.FLOOD: "left too many files, too large or too deeply nested files, unreadable folders, or a full disk",
}
MAX_PROGRAM_NAME_CHARS = 80  # of a file in an error message
SCRATCH_BYTES = 512 * MIB
RESERVED_DISK_BYTES = GIB  # free disk space that a build must leave; half of the free space if that is less
COMPILER_LINES_SHOWN = 30  # lines of compiler output in an error message
FIRST_ERROR, ONE_ERROR = "fix the first error first: it may cause the others", "correct what it names, then check again"
"""The hints for a build with several errors, and with one."""
TOOL_HINTS = {
    "lock file version .* was found": "leave Cargo.lock out, or write it with the cargo of this machine: a newer one wrote it",
    "npm (error|ERR!)": "a build has no network: hand in the packages with the bot, as docs/languages.md#typescript says",
}
"""Hints on the errors of tools, by a pattern that their output matches."""
MAX_LOG_CHARS = 64 << 10  # characters of the build log in a Problem


def copy_built(source: Path, target: Path, limits: TreeLimits = BUILT) -> None:
    """Copy the regular files and the folders of a build, and nothing else. Raise LimitExceeded if it is too large."""
    for entry in walk(source, limits):
        copied = target / entry.path
        if stat.S_ISDIR(entry.mode):
            copied.mkdir()
        if not entry.is_file:
            continue
        try:
            content, status = entry.read(limits.file_bytes)
        except OSError:
            continue  # a link has replaced it, or it cannot be read
        with copied.open("xb") as written:
            written.write(content)
        # At the Landlock level, a linker cannot make its output executable: setting a mode by name is denied there,
        # because nothing else protects the user's files.
        copied.chmod(0o755 if status.st_mode & 0o100 or content.startswith(ELF_MAGIC) else 0o644)
        # Keep the time of each file: a class-data archive is valid only for a jar with the modification time it stored.
        os.utime(copied, ns=(status.st_mtime_ns, status.st_mtime_ns))


def fingerprint(folder: Path, limits: TreeLimits = BUILDING) -> Iterator[bytes]:
    """Yield the names, modes and contents of a folder's files as bytes, in a fixed order, for a hash."""
    for entry in walk(folder, limits):
        if entry.is_file:
            data, _ = entry.read(limits.file_bytes)
            yield from _hashed_file(entry.path, entry.mode & 0o111, data)


def fingerprint_of_files(files: Iterable[File]) -> Iterator[bytes]:
    """Yield the bytes that `fingerprint` yields for a folder with these files.

    The order is that of `walk`: of each folder first its files, then the contents of its folders.
    """

    def place(file: File) -> list[tuple[bool, str]]:
        *folders, name = file.name.split("/")
        return [*((True, folder) for folder in folders), (False, name)]

    for file in sorted(files, key=place):
        yield from _hashed_file(file.name, 0o111 if file.executable else 0, file.content)


def _hashed_file(path: str, mode: int, data: bytes) -> Iterator[bytes]:
    yield f"{path}\0{mode}\0{len(data)}\0".encode(errors="surrogateescape")
    yield data


def hash_of(parts: Iterable[bytes], text: str = "") -> str:
    """Return the sha256 of `text` followed by `parts`, in hexadecimal."""
    what = hashlib.sha256(text.encode())
    for part in parts:
        what.update(part)
    return what.hexdigest()


# The sha256 of a bot covers the text of `hashed_spec`, and the name of its folder covers that of `hashed_steps`. Journals
# identify bots by their sha256. So the words in these texts are those of the first version: do not change them when a
# class or a key is renamed. A key that was added later appears only if its value is not the default.

HASHED_LIMITS = (
    "Limits(move=1.0, startup=10.0, cpu=1.0, cpu_table=86400.0, memory=536870912, tasks=64, output=4096, "
    "state=1048576, files=16777216, open_files=64, clock='wall')"
)
"""A placeholder for the limits of every bot. The sha256 of a bot does not depend on its limits."""

FIRST_KEYS = (
    *("author", "game", "protocol", "sources", "entry", "main", "run", "build", "compiler", "adapter", "heap"),
    *("python", "requires", "env", "needs", "parallel_tables", "table_ids", "lifetime", "warm", "state"),
    "state_lifetime",
)
"""The keys of bot.toml in the first version, in the order in which the hashed text has them after name and language."""

FIRST_NAMES = {"parallel_tables": "abreast", "table_ids": "tables"}
"""The names that renamed keys had in the first version, by their present names."""


def hashed_spec(submission: Submission) -> str:
    """Return the text about a submission that its bot's sha256 covers, in addition to the files.

    The folder, the limits and the wheels of the submission are not in it.
    """
    spec = submission.spec
    head = {"name": spec.name, "folder": Path(), "files": submission.files, "language": spec.language}
    keys = {FIRST_NAMES.get(key, key): getattr(spec, key) for key in FIRST_KEYS} | {"env": tuple(spec.env.items())}
    keys["lifetime"] = submission.with_keys(protocol=protocol_of(submission)).spec.process_lifetime
    words = ", ".join(f"{name}={value!r}" for name, value in (head | keys).items())
    first = {*head, *FIRST_KEYS, "limits"}
    added = {each.name: getattr(spec, each.name) for each in fields(spec) if each.name not in first}
    unset = BotSpec()
    later = "".join(f", {name}={value!r}" for name, value in added.items() if value != getattr(unset, name))
    return f"Spec({words}, limits={HASHED_LIMITS}, manifest='', wheels=None{later})"


def hashed_steps(steps: Iterable[Step]) -> str:
    """Return the text of a build's steps. Its hash is part of the name of the folder of the built bot."""
    words = (f"Step(command={step.command!r}, optional={step.optional!r})" for step in steps)
    return f"[{', '.join(words)}]"


def protocol_of(submission: Submission) -> str:
    """Return the protocol of a bot: that of its bot.toml, else that of its game, else argv."""
    return submission.spec.protocol or (submission.plays.protocol if submission.plays else "argv")


def question_of(submission: Submission) -> tuple[str, ...]:
    """Return the arguments of a first question. A build step asks it, to archive the classes that the bot loads.

    Return () if the game is unknown, or if the bot does not receive its questions as arguments.
    """
    game = submission.plays
    if game is None or protocol_of(submission) != "argv":
        return ()
    return tuple(word.decode() for word in submission.spec.ask(game.examples[0]))


def steps_of(submission: Submission) -> list[Step]:
    """Return the steps that build a bot: the commands in its bot.toml, or else the steps of its adapter or language."""
    if submission.spec.build:
        return own_build(submission)
    kind = ADAPTERS[submission.spec.adapter] if submission.spec.adapter else LANGUAGES[submission.spec.language]
    return kind.build(submission.with_keys(protocol=protocol_of(submission)), question_of(submission))


def warm_start(submission: Submission) -> tuple[str, ...]:
    """Return the command of a bot's warm start; () if each start is cold."""
    return default_command(submission.with_keys(protocol=protocol_of(submission))) if submission.spec.warm else ()


def reason_not_warm(submission: Submission) -> str:
    """Return the reason why a bot that requests a warm start has none."""
    warm = LANGUAGES[submission.spec.language].warm
    return warm.reason_against(submission.with_keys(protocol=protocol_of(submission))) if warm else NEVER_WARM


def format_step(step: Step) -> str:
    """Return a command of a build as text for people."""
    return " ".join([Path(step.command[0]).name, *step.command[1:]])


NOTHING: Mapping[str, bytes] = MappingProxyType({})


def program_hash(submission: Submission, beside: Sequence[File] = (), instead: Mapping[str, bytes] = NOTHING) -> str:
    """Return the sha256 that `build` gives a submission, without building it. The submission must not require packages.

    Add the files `beside` to its own. `instead` has other contents for some of its own files, by name.
    """
    text, own = program_parts(submission)
    files = [file._replace(content=instead.get(file.name, file.content)) for file in own]
    return hash_of(fingerprint_of_files([*files, *beside]), text)


def program_parts(submission: Submission) -> tuple[str, list[File]]:
    """Return the parts that the sha256 of a bot covers: the text of its spec; its files, with those of its adapter."""
    submission = adapted(submission)
    return hashed_spec(submission), _all_files(submission)


async def build(submission: Submission, level: Level, *, force: bool = False, beside: Sequence[File] = ()) -> BuiltBot:
    """Build the bot in a sandbox of this level, or return it from the cache. Add the files `beside` to its own.

    `force`: build it even if it is in the cache.

    Raise UserError: exit code 6 if a program is not installed or the level is too weak for the bot, 4 if it does not build
    (with the compiler's output), 3 if its bot.toml contradicts its adapter.
    """
    submission = adapted(submission)
    _refuse_missing_programs(submission)
    _refuse_weak_level(submission, level)
    if submission.limits.models:
        _refuse_models(submission)
    steps, most = steps_of(submission), submission.limits.submission
    store = builds()
    versions = _versions(steps)

    def identify(parts: Iterable[bytes]) -> tuple[str, Path]:
        sha256 = hash_of(
            parts, hashed_spec(submission)
        )  # equal on every machine; the result of the build depends on this machine
        made_by = hashlib.sha256(f"({sha256!r}, {hashed_steps(steps)}, {versions!r})".encode())
        return sha256, store / made_by.hexdigest()[:32]

    if not force and not submission.spec.requires:  # without a copy of the files, which takes a third of a start
        await trio.lowlevel.checkpoint()
        sha256, built = identify(fingerprint_of_files([*_all_files(submission), *beside]))
        if built.exists():
            with suppress(OSError):  # another user may own it
                os.utime(built)  # `prune_builds` removes what has not been used for long
            return _built_bot(submission, built, sha256)
    async with _build_folder(store) as workshop:
        staged = workshop / "staged"
        staged.mkdir()
        copy_files(read_files(submission.folder, submission.files, most), staged)
        copy_files(beside, staged)
        if submission.spec.adapter:
            add_kit(submission, staged)
        if submission.spec.requires:
            requirements.stage(
                submission.wheels or await requirements.download(submission, requirements.target_of(submission)), staged
            )
        sha256, built = identify(fingerprint(staged, enlarged(BUILDING, most)))
        if force and built.exists():
            paths.remove_tree(built)
        if not built.exists():
            log = build_log(sha256)
            if steps or submission.spec.requires:
                log.write_text("")
            finished = workshop / "finished"
            # In threads: to copy 10 000 files takes seconds, and other bots are prepared meanwhile.
            if submission.spec.requires:
                packages = await _unpacked_packages(submission, log, staged, level)
                into, how = (staged, shutil.copy2) if steps else (finished, os.link)  # a build may change them
                copied = partial(shutil.copytree, packages, into / requirements.FOLDER, copy_function=how)
                await trio.to_thread.run_sync(copied)
            if steps:
                await _run(submission, steps, log, staged, level)
            await trio.to_thread.run_sync(_move_to, built, staged, finished, submission)
    return _built_bot(submission, built, sha256)


def _all_files(submission: Submission) -> list[File]:
    """Return the files of a submission, and of the kit of its adapter."""
    kit = sources(ADAPTERS[submission.spec.adapter]) if submission.spec.adapter else {}
    files = [File(name, executable=False, content=source.read_bytes()) for name, source in kit.items()]
    return [*read_files(submission.folder, submission.files, submission.limits.submission), *files]


def _built_bot(submission: Submission, built: Path, sha256: str) -> BuiltBot:
    """Return the bot in the folder of a finished build."""
    language = LANGUAGES[submission.spec.language]
    files = frozenset(str(path.relative_to(built)) for path in built.rglob("*") if path.is_file())
    kind = ADAPTERS[submission.spec.adapter] if submission.spec.adapter else language
    argv = (ANY if submission.spec.run else kind).run(submission, files)
    env = environment(argv) | requirements.environment(submission) | dict(submission.spec.env)
    if (submission.spec.run or language.is_executable) and (java := tool(JAVA.programs[0])):
        env = environment((java,)) | env  # a start script may call java, which would find its libraries by /proc
    return BuiltBot(
        spec=replace(submission.spec, protocol=protocol_of(submission)),
        argv=argv,
        folder=str(built),
        sha256=sha256,
        env=tuple(env.items()),
        limits=submission.limits,
        warm=warm_start(submission),
    )


def _refuse_missing_programs(submission: Submission) -> None:
    """Raise UserError (exit code 6) if a program that the bot needs is not installed."""
    if lacks := missing(submission):
        hint = _installation(submission, lacks)
        message = f"needs {', '.join(lacks)}, not found on {PATH}"
        if hidden := [path for path in map(in_a_home_folder, lacks) if path]:
            message += f"; sandboxes do not show {', '.join(hidden)}"
            hint += ", or install that toolchain below /usr/local: no home folder is visible to a bot"
        raise UserError([Problem("S005", submission.name, message, hint=hint)], 6)


def _refuse_weak_level(submission: Submission, level: Level) -> None:
    """Raise UserError (exit code 6) if the bot keeps a folder or asks models, and this level does not support it."""
    spec = submission.spec
    if level.traits.own_namespaces or not (spec.keeps_folder or spec.models):
        return
    key = f"state = {to_toml(spec.state)}" if spec.state_is_folder else "state_absent = true"
    if spec.models:
        key = f"models = {to_toml(list(spec.models))}"
    able = [each for each in Level if each.traits.own_namespaces]
    message = f"{key} needs a sandbox of level {' or '.join(able)}; the level is {level}"
    hint = f'level = "{able[0]}" under [sandbox] in croupier.toml, without --unsafe'
    if not spec.models:
        instead = 'state = "memory.bin"' if spec.state_is_folder else "state_absent = false"
        hint += f"; or  {instead}  in its bot.toml"
    raise UserError([Problem("S001", submission.name, message, hint=hint)], 6)


def _refuse_models(submission: Submission) -> None:
    """Raise UserError (exit code 6) if the relay to the models of a bot is not installed, or if a key is missing."""
    require_relay(submission.name)
    from host.relay.upstream import Unusable, key_of

    for model in submission.limits.models:
        try:
            key_of(model)
        except Unusable as wrong:
            hint = f"set it before croupier starts; [models.{model.name}] in croupier.toml names it"
            raise UserError(
                [Problem("S019", submission.name, f"cannot ask {model.name}: {wrong}", hint=hint)], 6
            ) from wrong


def require_relay(where: str) -> None:
    """Raise UserError (exit code 6) if the relay to models is not installed."""
    try:
        import host.relay.upstream  # noqa: F401
    except ImportError as lacking:
        hint = "pip install '.[models]'   in a clone of croupier"
        problem = Problem("S008", where, f"bots that ask models need the extra models: {lacking}", hint=hint)
        raise UserError([problem], 6) from lacking


def _installation(submission: Submission, lacks: Sequence[str]) -> str:
    """Return a hint on how to install `lacks`: programs that a bot needs, and that this machine does not have.

    The package of a language contains only the usual programs of the language.
    """
    language = LANGUAGES[submission.spec.language]
    if {*lacks} <= {*language.programs, *language.project.programs}:
        return f"apt install {language.package}"
    if {*lacks} <= {*language.compilers}:
        return f"apt install {' '.join(lacks)}"  # a Lisp and its package have the same name
    if submission.spec.python and not {*lacks} & {*submission.spec.needs}:
        return "install it for the whole system, or remove `python` from its bot.toml: then python3 runs it"
    return "install it for the whole system, or remove it from `needs` in its bot.toml"


def _move_to(built: Path, staged: Path, finished: Path, submission: Submission) -> None:
    """Copy the files of a build from `staged` to `finished`, add the place of the state, rename `finished` to `built`.

    Raise UserError (exit code 4) if the files are too many or too large, or if one is at the place of the state.
    """
    finished.mkdir(exist_ok=True)
    try:
        copy_built(staged, finished, enlarged(BUILT, submission.limits.submission))
    except LimitExceeded as exceeded:
        where = f"{submission.name}: {exceeded.path[:MAX_PROGRAM_NAME_CHARS]}" if exceeded.path else submission.name
        raise UserError([Problem("B016", escape_control_chars(where), exceeded.why)], 4) from exceeded
    if state := submission.spec.state:
        _make_place(finished / state, submission.spec)
    try:
        finished.rename(built)
    except OSError:
        if not built.exists():  # else another process has built the same bot
            raise


def _make_place(place: Path, spec: BotSpec) -> None:
    """Create the file, folder or link over which the sandbox mounts a bot's state.

    Raise UserError (exit code 4) if the submission or its build has put something else there.
    """
    wrong = ""
    if spec.state_is_folder and (place.is_file() or (place.is_dir() and any(place.iterdir()))):
        wrong = "must be empty at first, but the submission or its build puts files there"
    elif place.is_dir() and not spec.state_is_folder:
        wrong = "is its state file, but the submission or its build makes it a folder"
    if wrong:
        hint = "give `state` in its bot.toml a name that nothing else has"
        raise UserError([Problem("B016", f"{spec.name}: {spec.state}", wrong, hint=hint)], 4)
    if spec.state_is_folder:
        place.mkdir(exist_ok=True)
    elif spec.state_absent:
        place.unlink(missing_ok=True)
        place.symlink_to(f"{ABSENT_AT_FIRST}/{spec.state}")
    else:
        place.touch()


@asynccontextmanager
async def _build_folder(store: Path) -> AsyncIterator[Path]:
    """Yield a new folder to build in. Remove the build folders of croupier processes that were killed.

    The process that uses a folder holds its lock.
    """
    with ExitStack() as held:
        with _locked(store / ".lock"):
            orphans = [path for path in store.glob("making-*") if held.enter_context(_try_lock(path))]
            workshop = Path(tempfile.mkdtemp(dir=store, prefix="making-"))
            held.enter_context(_try_lock(workshop))
        try:
            workshop.chmod(0o755)
            for orphan in orphans:
                await trio.to_thread.run_sync(paths.remove_tree, orphan)
            yield workshop
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(paths.remove_tree, workshop)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file during the block. Each process holds it only for a short time."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _try_lock(folder: Path) -> Iterator[bool]:
    """Try to lock a folder for the length of the block. Yield whether this process has the lock."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield False  # it has just been removed
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        free = False
    else:
        free = True
    try:
        yield free
    finally:
        os.close(descriptor)


def _versions(steps: list[Step]) -> list[str]:
    """Return the identity of the toolchain: the real path, size and modification time of each program of the build."""
    versions = []
    for step in steps:
        path = Path(tool(step.command[0]) or step.command[0]).resolve()
        if path.exists():
            versions.append(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}")
    return versions


def build_log(sha256: str) -> Path:
    """Return the path of the log of a build, successful or not."""
    return builds() / f"{sha256[:32]}.log"


def builds() -> Path:
    """Return the folder of all builds of this machine."""
    folder = paths.cache_dir() / "bots"
    folder.mkdir(exist_ok=True)
    return folder


def prune_builds(most: int, unused_since: float) -> int:
    """Remove builds, the least recently used first, until all builds and their logs have at most `most` bytes.

    Keep the builds that were used since `unused_since`, in seconds since 1970. Return the number of builds removed.
    croupier builds a bot again when it needs it.
    """
    found = list[tuple[float, Path]]()
    for path in builds().iterdir():
        with suppress(FileNotFoundError):  # another process has just removed it
            if not path.name.startswith("."):  # the lock stays: a process that waits for it would get a removed file
                found.append((path.lstat().st_mtime, path))
    sizes = {path: paths.size_of(path) for _, path in found}
    size, removed = sum(sizes.values()), 0
    for used, path in sorted(found):
        if size <= most or used >= unused_since:
            break
        removed += path.is_dir()  # the logs of builds are files
        paths.remove_tree(path)
        size -= sizes[path]
    return removed


@asynccontextmanager
async def _killed_when_cancelled(keeper: Keeper) -> AsyncIterator[None]:
    """Kill the current step of a build if the block is cancelled.

    The block then still waits for the keeper's reply, which comes immediately.
    """
    over = False

    async def kill() -> None:
        try:
            await trio.sleep_forever()
        finally:
            if not over:
                keeper.kill_now()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(kill)
        yield
        over = True
        nursery.cancel_scope.cancel()


async def _run(submission: Submission, steps: list[Step], log: Path, staged: Path, level: Level) -> None:
    """Run the steps of a build and append their output to its log. Raise UserError (exit code 4) if a step fails."""
    row = LANGUAGES[submission.spec.language]
    compiler = tuple(map(need, row.programs[:1]))
    executable = _proc_self_exe(submission)
    home = Home(staged, writable=True, scratch=SCRATCH_BYTES, executable=executable, readable=row.view.folders)
    env = environment(compiler)
    for program in () if compiler else [name for other in LANGUAGES.values() for name in other.programs[:1]]:
        env |= environment((need(program),))  # its commands may call the tools of a JDK, which need their libraries
    env |= requirements.environment(submission)
    async with running_monitor() as watcher, sandboxed(level, home, BUILD_LIMITS) as sandbox:
        env |= row.view.env(sandbox.tmp or "/tmp")
        folders = [staged, *([Path(sandbox.tmp)] if sandbox.tmp else [])]
        too_much = quota_check(folders, enlarged(BUILDING, submission.limits.submission))
        deadline = time.monotonic() + BUILD_TIMEOUT_S
        with watcher.watching(sandbox, BUILD_LIMITS.memory, too_much) as watched:
            for step in steps:
                started = time.monotonic()
                watched.new_process()
                wall = OPTIONAL_STEP_TIMEOUT_S if step.optional else BUILD_LIMITS.move
                request = ([word.encode() for word in step.command], env | environment(step.command))
                try:
                    with unwrap_exception_group():
                        async with _killed_when_cancelled(sandbox.keeper):
                            ended = await sandbox.keeper.ask(
                                *request, BUILD_LIMITS, min(wall, max(deadline - started, 0.0))
                            )
                except KeeperOutOfMemory as out:
                    took = time.monotonic() - started
                    raise UserError([_build_error(submission, step, LOST, str(out), took, log)], 4) from out
                took = time.monotonic() - started
                with log.open("a") as words:
                    printed = _printed(ended).decode(errors="replace")
                    text = f"$ {format_step(step)}\n{printed}\n({ended.words}, {took:.2f} s)\n"
                    words.write(escape_control_chars(text))
                well = ended.status == 0 and not ended.error and not ended.timed_out
                over = time.monotonic() >= deadline
                if watched.limit_exceeded is None and not over and (well or step.optional):
                    continue
                how = (
                    LIMIT_MESSAGES[watched.limit_exceeded]
                    if watched.limit_exceeded
                    else f"all commands together took longer than {BUILD_TIMEOUT_S:.0f} s"
                    if over
                    else "took too long"
                    if ended.timed_out
                    else ended.words
                )
                raise UserError([_build_error(submission, step, ended, how, took, log)], 4)


async def _unpacked_packages(submission: Submission, log: Path, staged: Path, level: Level) -> Path:
    """Remove the wheels from a bot's folder, and return the folder with the packages unpacked from them.

    Each set of wheels is unpacked once. The sandbox that unpacks it contains only the wheels: so no bot can change the
    packages of another bot.
    """
    wheels, steps = staged / requirements.WHEELS, requirements.unpacking(submission)
    store = paths.cache_dir() / requirements.FOLDER
    store.mkdir(exist_ok=True)
    kept = store / hash_of(fingerprint(wheels), hashed_steps(steps))[:32]
    if not kept.exists():
        unpacked = staged.with_name("unpacked")
        unpacked.mkdir()
        wheels.rename(unpacked / requirements.WHEELS)
        await _run(submission, steps, log, unpacked, level)
        found, copy = unpacked / requirements.FOLDER, staged.with_name("packages")
        await trio.to_thread.run_sync(_move_to, kept, found, copy, submission.with_keys(state=""))
    paths.remove_tree(wheels)
    return kept


def _proc_self_exe(submission: Submission) -> str:
    """Return the path of the bot's compiler if the compiler finds its files through /proc/self/exe; otherwise ""."""
    suffixes = {PurePosixPath(name).suffix for name in submission.files}
    for row in LANGUAGES.values():
        own = submission.spec.language in (row.name, ANY.name) and not suffixes.isdisjoint(row.suffixes)
        if row.view.proc_self_exe and own and (compiler := tool(row.programs[0])):
            return str(Path(compiler).resolve())
    return ""


def _disk_free(folder: Path) -> int:
    """Return the bytes that are free on a folder's disk."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def quota_check(folders: Sequence[Path], limits: TreeLimits = BUILDING) -> Callable[[], bool]:
    """Return a function that tests whether the files of a build are too large or too many, or nearly fill the disk.

    The function checks the free space at each call: a file that is open but already removed is in no folder. To walk
    through 10 000 files takes as long as the pause between two calls. Therefore the function checks the folders for at
    most a quarter of the time.
    """
    min_free = min(RESERVED_DISK_BYTES, _disk_free(folders[0]) // 2)
    next_walk = 0.0

    def too_much() -> bool:
        nonlocal next_walk
        began = time.perf_counter()
        if _disk_free(folders[0]) < min_free:
            return True
        if began < next_walk:
            return False
        exceeded = any(exceeds(folder, limits) for folder in folders)
        now = time.perf_counter()
        next_walk = now + REST_AFTER_COUNT * (now - began)
        return exceeded

    return too_much


def _build_file_hint(submission: Submission) -> str:
    """Return a hint on how to build with the bot's own build file, for example a Makefile.

    Return "" if there is no such file, or if bot.toml has build commands.
    """
    found = [(name, command) for name, command in BUILD_FILES.items() if name in submission.files]
    if submission.spec.build or not found:
        return ""
    name, command = found[0]
    return f'it has a {name}; to build with it: build = ["{command}"] and run = ["./…"] in bot.toml'


def _printed(ended: Ended) -> bytes:
    """Return the output of a command of a build, with paths relative to the bot's folder."""
    return (ended.marked_stderr + ended.output).replace(b"/bot/", b"")


def _build_error(submission: Submission, step: Step, ended: Ended, how: str, took: float, log: Path) -> Problem:
    printed = Output(_printed(ended))
    text = _printed(ended).decode(errors="replace")
    shown = "\n".join(printed.compiler_lines(COMPILER_LINES_SHOWN)) or "(the compiler printed nothing)"
    errors = printed.compiler_errors
    first = f":  {errors[0]}" if errors else ""
    usual = FIRST_ERROR if len(errors) > 1 else ONE_ERROR
    usual = next((hint for words, hint in TOOL_HINTS.items() if re.search(words, text)), usual)
    return Problem(
        "B010",
        submission.name,
        f"does not build  ({format_step(step)[:160]}; {how}, {took:.1f} s){first}",
        f"{shown}{LOG_PREFIX}{log}",
        advice(submission, text) or _build_file_hint(submission) or usual,
        log.read_text(errors="replace")[-MAX_LOG_CHARS:],
    )
