"""Defines the languages, one row each: how to find, build, start and diagnose a bot. `any` is any other program.

languages.toml has everything that needs no code. This module reads that file and has everything else.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from host.base import paths
from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.base.toml_file import read_untrusted
from host.base.value_types import InvalidValue, plain_string
from host.bots.bot_spec import BuiltBot, Submission
from host.bots.values import Evidence
from host.sandbox.limits import MIB
from host.submissions.file_tree import SUBMITTED, FileTree, read_files

if TYPE_CHECKING:
    from host.bots.bot_spec import BotSpec

PATH = "/usr/local/bin:/usr/bin:/bin"
"""The PATH of every bot: the folders that exist inside a sandbox."""

INTERPRETER = Path(__file__).parents[1] / "sandbox" / "fork_server.py"

BUILD_FILES = {"build.sh": "sh build.sh", "make.sh": "sh make.sh", "Makefile": "make"}
"""The files in which authors describe their own build, each with the command that builds."""

Command = tuple[str, ...]


class Step(NamedTuple):
    """A command of a build. An optional command only makes the bot faster; if it fails, the build continues."""

    command: Command
    optional: bool = False


Kit = Mapping[str, tuple[str, str]]
"""The modules of an adapter: file and text by module name; `__main__` is its program."""


class Starter(NamedTuple):
    """The source file of a starter bot, and the keys that its bot.toml needs in addition to those of every bot.

    `referee` is the folder in sample_bots/referees that `init --referee` copies; empty if there is none.
    """

    file: str
    keys: Mapping[str, object] = {}
    referee: str = ""


class EmptyBot(NamedTuple):
    """A bot of a language that only starts and answers once."""

    source: str  # a complete program that answers S to any question by argv
    start_ms: float = 3.0  # processor time in which it starts and ends


class WarmStart(NamedTuple):
    """How a bot of a language starts from a ready interpreter."""

    command: Callable[[Submission, Kit], Command]  # of a process that forks the bot
    reason_against: Callable[[Submission], str]  # why a bot cannot have a warm start; "" if it can


class Marks(NamedTuple):
    """How croupier finds the language of a file that has no suffix of a language."""

    start: re.Pattern[bytes] | None = None  # the first bytes of a source file
    interpreter: re.Pattern[str] | None = None  # names in a '#!' line that mean programs[0]


class OutputHints(NamedTuple):
    """How a program of a language writes its output, for messages to its author."""

    flush: str = ""  # how it flushes its output
    debug: str = ""  # how it prints text to standard error
    # The error with which its runtime ends a program: the groups of the match, or the whole match if it has no groups.
    crash: re.Pattern[str] | None = None
    is_line_buffered: bool = False  # whether croupier starts it so that it flushes each line


class Project(NamedTuple):
    """How a language describes a project of several sources."""

    file: str = ""  # the pattern of the file that describes it, which is then the entry
    programs: tuple[str, ...] = ()  # the programs that must be installed for it


class Symptom(NamedTuple):
    """Output of a runtime that explains why a bot failed."""

    code: str
    pattern: re.Pattern[str]
    message: str  # {line} stands for the line that matches, {ended} for how the process ended
    hint: str = ""  # empty if CURES has a function for it
    at_start: bool = True  # whether a bot with this symptom can never start

    def text(self, fault: Evidence, line: str) -> str:
        """Return the message about a fault. `line` is the line of output that matches the pattern."""
        return self.message.format(line=line, ended=fault.ended or "waits for input")

    def cure(self, bot: BuiltBot, fault: Evidence) -> str:
        """Return the suggested fix for a bot with this symptom."""
        return self.hint or CURES[self.code](bot, fault)


class BuildView(NamedTuple):
    """The needs of a language's compiler in the sandbox of a build, besides /usr."""

    env: Callable[[str], Mapping[str, str]] = lambda _tmp: {}  # variables, by the temporary folder of the build
    folders: tuple[str, ...] = ()  # folders that it reads
    proc_self_exe: bool = False  # whether programs[0] finds its own files through /proc/self/exe


class Language(NamedTuple):
    """A row of LANGUAGES: everything that croupier knows about a language."""

    name: str
    starter: Starter
    empty: EmptyBot
    suffixes: tuple[str, ...] = ()  # of source files; the first is the usual one
    fallback_suffixes: tuple[str, ...] = ()  # of files that are sources only if there is nothing else to run
    programs: tuple[str, ...] = ()  # the programs that must be installed
    package: str = ""  # the Debian packages with these programs
    project: Project = Project()
    # Returns the build steps. Arguments: the submission, and the arguments of a first question.
    build: Callable[[Submission, Command], list[Step]] = lambda _submission, _question: []
    # Returns the command that starts the bot. Arguments: the submission, and the names of the files after the build.
    run: Callable[[Submission, frozenset[str]], Command] = lambda _submission, _files: ("./bot",)
    compilers: tuple[str, ...] = ()  # the values of `compiler`; the first is the default
    keys: tuple[str, ...] = ()  # keys of bot.toml that this language has, but not every language
    is_executable: bool = False  # any program: the submitted file itself is executed
    marks: Marks = Marks()
    output: OutputHints = OutputHints()
    view: BuildView = BuildView()
    symptoms: tuple[Symptom, ...] = ()
    programs_of: Callable[[Submission], Command] | None = None  # the programs that one bot needs, if not `programs`
    source_problems: Callable[[FileTree, str, "BotSpec"], list[Problem]] = lambda _tree, _name, _manifest: []
    warm: WarmStart | None = None

    @property
    def has_entry(self) -> bool:
        """Whether a bot is started by one file, its entry. In other languages all sources together are the bot."""
        return "entry" in self.keys


@cache
def tool(name: str) -> str | None:
    """Return the path of an installed program that sandboxes can see; None if there is none."""
    found = shutil.which(name, path=PATH)
    return str(Path(found)) if found else None


def need(name: str) -> str:
    """Return a program's path. If it is not installed, return its bare name; `missing` reports that."""
    return tool(name) or name


def own_build(submission: Submission) -> list[Step]:
    """Return the build commands of the bot's bot.toml."""
    return [Step(("/bin/sh", "-c", line)) for line in submission.spec.build]


def include_options(submission: Submission) -> Command:
    """Return the options with which a C or C++ compiler finds the headers in the folders called `include`."""
    folders = [PurePosixPath(name).parent.parts for name in submission.files]
    found = {"/".join(parts[: parts.index("include") + 1]) for parts in folders if "include" in parts}
    return tuple(f"-I{folder}" for folder in sorted(found))


def compiled(words: Command, submission: Submission, _question: Command) -> list[Step]:
    """Return the step of a compiler; {sources}, {entry} and {includes} in its words stand for the files of a submission."""
    spec = submission.spec
    files = {"{sources}": spec.sources, "{entry}": (spec.entry,), "{includes}": include_options(submission)}
    return [Step((need(words[0]), *(word for each in words[1:] for word in files.get(each, (each,)))))]


def interpreted(words: Command, submission: Submission, _files: frozenset[str]) -> Command:
    """Return the command of an interpreter that runs the entry of a submission."""
    return (need(words[0]), *words[1:], submission.spec.entry)


JAVA_LEAN = (
    *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ActiveProcessorCount=1"),
    *("-XX:-UsePerfData", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=warning:stderr", "-Xss1m"),
)
MAX_SOURCE_BYTES = 1 << 20
"""The bytes at the start of a source file that croupier reads, for example to find the main class."""

PACKAGE = re.compile(r"^[^\S\n]*+package\s++([\w.]++)\s*+;", re.MULTILINE)
MAIN = re.compile(r"\bstatic\s+(?:final\s+)?void\s+main\s*\(")
TYPE = re.compile(r"\b(?:class|record|enum|interface)\s+(\w+)")
BRACE_OR_PUBLIC_TYPE = re.compile(
    r"[{}]|\bpublic\s++(?:(?:final|abstract|sealed|non-sealed|strictfp)\s++)*+(?:class|record|enum|@?interface)\s++(\w++)"
)
NOT_CODE = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)|"(?:\\.|[^"\\\n])*+"?|\'(?:\\.|[^\'\\\n])*+\'?|//[^\n]*+|/\*.*?(?:\*/|\Z)', re.DOTALL
)
"""The strings, characters and comments of a Java source. Each alternative also matches one without its end: so a search takes
linear time."""


def source_text(submission: Submission, name: str) -> str:
    """Return the text of the first MAX_SOURCE_BYTES of a source file. Raise UserError as `read_files` does."""
    (file,) = read_files(submission.folder, [name], MAX_SOURCE_BYTES)
    return file.content.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n")


def java_code(submission: Submission, name: str) -> str:
    """Return the text of a Java source without its strings and comments."""
    return NOT_CODE.sub(" ", source_text(submission, name))


def public_type(code: str) -> str:
    """Return the name of a Java source's public class; "" if it has none. javac requires a file of the same name."""
    depth = 0
    for found in BRACE_OR_PUBLIC_TYPE.finditer(code):
        if found[1] and not depth:
            return found[1]
        depth += {"{": 1, "}": -1}.get(found[0], 0)
    return ""


def main_class(submission: Submission) -> str:
    """Return the name of the main class: the one in bot.toml, or else the first one found in the sources.

    If no source has a main method, return the name of the first source without its suffix.
    """
    if submission.spec.main:
        return submission.spec.main
    for source in submission.spec.sources:
        code = java_code(submission, source)
        if not MAIN.search(code):
            continue
        package = PACKAGE.search(code)
        stem = Path(source).stem
        types = TYPE.findall(code)
        named = stem if stem in types or not types else public_type(code) or types[0]
        return (package[1] + "." if package else "") + named
    return Path(submission.spec.sources[0]).stem if submission.spec.sources else "Main"


def named_for_javac(submission: Submission) -> tuple[Submission, list[Step]]:
    """Return a Java bot whose single source is named after its public class, and the build step that renames the file.

    Return the bot unchanged, and no step, if it has several sources, no public class, or the right name already.
    """
    if len(submission.spec.sources) != 1:
        return submission, []
    (source,) = submission.spec.sources
    wanted = public_type(java_code(submission, source))
    renamed = str(PurePosixPath(source).with_name(f"{wanted}.java"))
    if not wanted or renamed == source:
        return submission, []
    return submission.with_keys(sources=(renamed,)), [Step(("/bin/mv", source, renamed))]


def jvm(submission: Submission) -> Command:
    """Return the command of a JVM that uses little memory and one core, and starts fast. The caller adds a class."""
    heap = max(submission.spec.heap // MIB, 8) if submission.spec.heap else 128
    return (need("java"), *JAVA_LEAN, f"-Xmx{heap}m")


def class_path(submission: Submission, *own: str) -> Command:
    """Return the option with a Java bot's class path: `own`, then the bot's jars in folders called `lib`.

    Return () if the class path is empty.
    """
    jars = [name for name in submission.files if name.endswith(".jar") and PurePosixPath(name).parent.name == "lib"]
    return ("-cp", ":".join([*own, *jars])) if own or jars else ()


def java(submission: Submission, *options: str) -> Command:
    """Return the command that runs a Java bot."""
    return (*jvm(submission), *options, *class_path(submission, "bot.jar"), main_class(submission))


def compiled_to_jar(submission: Submission, *options: str) -> list[Step]:
    """Return the steps that compile a Java bot into `bot.jar`. `options` are for javac."""
    named, renaming = named_for_javac(submission)
    usual = ("-encoding", "UTF-8", "-nowarn", *class_path(submission), "-d", "classes")
    return [
        *renaming,
        Step((need("javac"), *usual, *options, *named.spec.sources)),
        Step((need("jar"), "--create", "--file", "bot.jar", "-C", "classes", ".")),
    ]


def class_data(files: frozenset[str]) -> Command:
    """Return the option with which a JVM uses the class-data archive; () if the build did not create one."""
    return ("-XX:SharedArchiveFile=bot.jsa",) if "bot.jsa" in files else ()


def build_java(submission: Submission, question: Command) -> list[Step]:
    """Return the steps that compile Java into a jar, and archive the class data that a first question loads."""
    archived = Step((*java(submission, "-XX:ArchiveClassesAtExit=bot.jsa"), *question), optional=True)
    return [*compiled_to_jar(submission), archived]


def run_java(submission: Submission, files: frozenset[str]) -> Command:
    """Return the command that runs the jar, with its class-data archive if the build created one."""
    return java(submission, *class_data(files))


def mains(bot: BuiltBot) -> list[str]:
    """Return the names of the classes of a built Java bot that have a main method, sorted."""
    folder = Path(bot.folder) / "classes"
    return sorted(
        ".".join(path.relative_to(folder).with_suffix("").parts)
        for path in folder.rglob("*.class")
        if b"([Ljava/lang/String;)V" in (content := path.read_bytes()) and b"\x01\x00\x04main" in content
    )


def main_hint(bot: BuiltBot) -> str:
    """Return the line of bot.toml that names the main class, or the classes to choose from."""
    found = mains(bot)
    return f'main = "{found[0]}"' if len(found) == 1 else f"a class with a main: {', '.join(found) or 'there is none'}"


STARTER = (
    "import builtins, sys; builtins.exit = builtins.quit = sys.exit; sys.path += {packages!r}; "
    "sys.stdout.reconfigure(line_buffering=True); del sys.argv[0]; __file__ = sys.argv[0]; "
    "exec(compile(open(__file__, 'rb').read(), __file__, 'exec'))"
)
"""The program that starts a Python bot with line-buffered output. (With -u, each `print` would be two writes.)

-S skips the module `site`, which halves the start time. This program sets the package folders and exit() instead.
"""


STARTER_2 = (
    "import __builtin__, os, sys; __builtin__.exit = __builtin__.quit = sys.exit; sys.stdout = os.fdopen(1, 'w', 1); "
    "del sys.argv[0]; __file__ = sys.argv[0]; execfile(__file__)"
)
"""The program that starts a Python 2 bot with line-buffered output, without the packages of the machine."""

READY = (
    "import builtins, sys; builtins.exit = builtins.quit = sys.exit; sys.path += {packages!r}; del sys.path[0]; "
    "sys.stdout.reconfigure(line_buffering=True); del sys.argv[0]; __file__ = sys.argv[0]; "
    "home = {{}}; exec({text!r}, home); globals().pop('home')['serve'](__file__, {guest!r}, {kit!r}, globals())"
)
"""The program of an interpreter that stays alive, and forks itself for each start of a bot.

-E ignores PYTHONPATH: the bot's packages must not get into the interpreter.
"""


@cache
def packages(program: str) -> tuple[str, ...]:
    """Return the package folders of an installed Python that sandboxes can see."""
    command = [need(program), "-I", "-c", "import site; print(*site.getsitepackages(), sep=chr(10))"]
    output = subprocess.run(command, capture_output=True, text=True, check=False, env={}).stdout
    return tuple(folder for folder in output.splitlines() if folder.startswith("/usr/") and Path(folder).is_dir())


def run_python(submission: Submission, _files: frozenset[str]) -> Command:
    """Return the command that runs a bot's script, with line-buffered output."""
    return script(submission, submission.spec.entry)


def script(submission: Submission, entry: str) -> Command:
    """Return the command that starts a Python script."""
    program = python(submission)
    starter = STARTER_2 if is_python_2(submission.spec) else STARTER.format(packages=[*packages(program)])
    return (need(program), "-B", "-S", "-c", starter, entry)


def is_python_2(spec: "BotSpec") -> bool:
    """Return whether a bot.toml names a version of Python 2."""
    return spec.python.lstrip(">= ").startswith("2")


def warm_python(submission: Submission, kit: Kit) -> Command:
    """Return the command of an interpreter that forks this bot for every start.

    It has as many words as the part of a cold start's command that ends with the script. The words that follow the script
    in the command of a cold start become the arguments of the fork.
    """
    program = python(submission)
    entry, _ = kit.get("__main__", (submission.spec.entry, ""))
    text = INTERPRETER.read_text()
    ready = READY.format(packages=[*packages(program)], text=text, guest=submission.spec.entry, kit={**kit})
    return (need(program), "-B", "-ES", "-c", ready, entry)


NEVER_WARM = "only Python scripts with the argv protocol can start warm"


def reason_not_warm_python(submission: Submission) -> str:
    """Return the reason why a Python bot cannot have a warm start; "" if it can.

    No code of a bot may run in the interpreter that forks it. So the bot must not have a module with the name of a
    module of the standard library, and must not set environment variables.
    """
    hiding = [name for name in submission.files if name.partition("/")[0].partition(".")[0] in sys.stdlib_module_names]
    if is_python_2(submission.spec):
        return "Python 2 cannot"
    if submission.spec.run or (submission.spec.protocol not in ("", "argv") and not submission.spec.adapter):
        return NEVER_WARM
    if hiding:
        return f"its own {hiding[0]} hides the module of the standard library"
    return "its bot.toml has `env`" if submission.spec.env else ""


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: (3, 11) for ">=3.11" and for "3.11"."""
    return tuple(map(int, re.findall("[0-9]+", version)))


@cache
def version_of(program: str) -> tuple[int, ...]:
    """Return the version of an installed Python."""
    command = [need(program), "-c", "import sys; print(*sys.version_info[:3])"]
    return numbers(subprocess.run(command, capture_output=True, text=True, check=False, env={}).stdout)


def python(submission: Submission) -> str:
    """Return the program that runs a Python bot: python3, or the version that its bot.toml names."""
    if not submission.spec.python or submission.spec.python.startswith(">="):
        return "python3"
    return "python" + ".".join(map(str, numbers(submission.spec.python)[:2]))


def python_programs(submission: Submission) -> Command:
    """Return the interpreter that a Python bot needs.

    If the installed version is too old, add the required version to the name, so that `missing` reports it.
    """
    if (
        submission.spec.python.startswith(">=")
        and tool("python3")
        and version_of("python3") < numbers(submission.spec.python)
    ):
        return (f"python3 {submission.spec.python}",)
    return (python(submission),)


COMPILED = """
import json, resource, sys, warnings
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
warnings.simplefilter("ignore")
try:
    compile(sys.stdin.buffer.read(), "bot", "exec", dont_inherit=True)
except SyntaxError as error:
    print(json.dumps([type(error).__name__, str(error.msg), error.lineno or 1, error.text or ""]))
except ValueError as error:
    print(json.dumps(["SyntaxError", str(error), 1, ""]))
"""
"""Compiles an untrusted source in a separate process, because the source could crash the compiler or exhaust the memory."""

PYTHON_2 = re.compile(
    r"Missing parentheses in call to '(print|exec)'|multiple exception types must be parenthesized|leading zeros in decimal"
)
PYTHON_2_LINE = re.compile(r"<>|`|\b[0-9]+[lL]\b|^\s*raise\s+\w+\s*,|^\s*(print|exec)\s+[\"'\w]|\bur[\"']")


def python_problems(contents: FileTree, name: str, manifest: "BotSpec") -> list[Problem]:
    """Return the reason why Python cannot compile a source file: the file is Python 2, or has a syntax error."""
    if is_python_2(manifest) or name not in contents.modes:
        return []
    program = tool("python3")
    if program is None:
        return []  # `missing` reports it
    error = _compile_error(program, contents.start_of(name, SUBMITTED.file_bytes))
    try:
        kind, said, line, text = json.loads(error)
    except ValueError:
        return []  # the source compiles, or this check failed; the first question reveals an error
    where, text = f"{contents.where(name)}:{line}", one_line(text.strip())[:80]
    words = f"{kind}: {one_line(said.partition('. Did you mean')[0])}"
    if not (PYTHON_2.search(said) or PYTHON_2_LINE.search(text)):
        return [Problem("B015", where, words, text, f"python3 -m py_compile {contents.where(name)}")]
    printed = re.match(r"print\s+(.+)", text)
    change = f"change to print({printed[1]})" if printed else "rewrite it for Python 3"
    return [Problem("B006", where, f"is Python 2:  {text}", words, f"{change}; {python_2_cure(contents.where(name))}")]


_compile_errors = dict[tuple[str, bytes], bytes]()
"""The output of COMPILED, by the Python program and the SHA-256 of the source. It is kept because a season loads all
its bots before every round."""
MAX_COMPILE_ERRORS = 4096


def _compile_error(program: str, source: bytes) -> bytes:
    """Return the syntax error of a source as JSON; b"" if it compiles, or if the check failed."""
    key = program, hashlib.sha256(source).digest()
    if key not in _compile_errors:
        root = os.geteuid() == 0
        uid, gid = paths.sandbox_user()
        try:
            error = subprocess.run(
                [program, "-I", "-S", "-B", "-c", COMPILED],
                input=source,
                capture_output=True,
                cwd="/",
                env={},
                timeout=10,
                user=uid if root else None,
                group=gid if root else None,
                extra_groups=[] if root else None,
            ).stdout
        except subprocess.TimeoutExpired:
            error = b""
        except (subprocess.SubprocessError, OSError):
            return b""
        if len(_compile_errors) >= MAX_COMPILE_ERRORS:
            _compile_errors.clear()
        _compile_errors[key] = error[:10_000]
    return _compile_errors[key]


def python_2_cure(path: str) -> str:
    """Return a hint for the author of a Python 2 program: whether this machine can run or convert it, and how."""
    if tool("python2.7"):
        return 'or set python = "2.7" in bot.toml'
    if can_convert():
        return f"or convert it:  python3 -m lib2to3 -w -n {shlex.quote(path)}"
    return "this machine has neither Python 2.7 nor lib2to3, which python3 had up to 3.12"


@cache
def can_convert() -> bool:
    """Return whether the installed Python still has the program that converts Python 2 to Python 3."""
    program = tool("python3")
    command = [str(program), "-I", "-W", "ignore", "-c", "import lib2to3.main"]
    return program is not None and subprocess.run(command, capture_output=True, check=False, env={}).returncode == 0


def build_lisp(submission: Submission, _question: Command) -> list[Step]:
    """Return the steps that compile for SBCL; [] for another Lisp.

    A source that does not compile runs as a script. An ASDF system becomes a core.
    """
    if submission.spec.compiler not in ("", "sbcl"):
        return []
    bare = ("--noinform", "--no-sysinit", "--no-userinit", "--non-interactive")
    if is_system(submission):
        name = f'"{PurePosixPath(submission.spec.entry).stem}"'  # the name of a file has no quotes and no backslashes
        forms = ("(require :asdf)", ASDF_SOURCES, f"(asdf:load-system {name})", SAVE_CORE % {"name": name})
        return [Step((need("sbcl"), *bare, *(word for form in forms for word in ("--eval", form))))]
    compile_it = (
        f'(multiple-value-bind (made warned failed) (compile-file "{submission.spec.entry}" :output-file "bot.fasl")'
        " (declare (ignore warned)) (when (and failed made) (delete-file made))"
        " (sb-ext:exit :code (if (or failed (null made)) 1 0)))"
    )
    return [Step((need("sbcl"), *bare, "--eval", compile_it), optional=True)]


ASDF_SOURCES = (
    "(asdf:initialize-source-registry"
    " (list :source-registry (list :tree (uiop:getcwd)) :ignore-inherited-configuration))"
)
SAVE_CORE = """
(let ((entry (asdf/system:component-entry-point (asdf:find-system %(name)s))))
  (unless entry
    (format *error-output* "error: the system ~a has no :entry-point~%%" %(name)s)
    (sb-ext:exit :code 1 :abort t))
  (let ((main (uiop:ensure-function entry)))
    (sb-ext:save-lisp-and-die "bot.core" :toplevel (lambda () (sb-ext:disable-debugger) (funcall main) (sb-ext:exit)))))
"""
"""Saves a process that has loaded a system. A start of the core calls the entry point of the system."""


def is_system(submission: Submission) -> bool:
    """Return whether a Lisp bot is an ASDF system."""
    return submission.spec.entry.endswith(".asd")


def run_lisp(submission: Submission, files: frozenset[str]) -> Command:
    """Return the command that runs a bot with the chosen Lisp, without a debugger."""
    match submission.spec.compiler:
        case "ecl":
            return (need("ecl"), "--norc", "--shell", submission.spec.entry)
        case "clisp":
            return (need("clisp"), "-q", "-norc", submission.spec.entry)
    compiled = str(PurePosixPath(submission.spec.entry).with_name("bot.fasl"))  # Lisp writes it next to the script
    heap = ("--dynamic-space-size", f"{max(submission.spec.heap // MIB, 32)}MB") if submission.spec.heap else ()
    if is_system(submission):
        return (need("sbcl"), "--noinform", "--core", "bot.core", *heap, "--disable-ldb", "--lose-on-corruption")
    return (need("sbcl"), *heap, "--script", compiled if compiled in files else submission.spec.entry)


def run_any(submission: Submission, _files: frozenset[str]) -> Command:
    """Return the command in `run`, or the command that executes the entry itself."""
    first, *rest = submission.spec.run or (f"./{submission.spec.entry}",)
    return (first if "/" in first else need(first), *rest)


def any_programs(submission: Submission) -> Command:
    """Return the program of the system that `run` names; () if it names none."""
    return (submission.spec.run[0],) if submission.spec.run and "/" not in submission.spec.run[0] else ()


def lisp_programs(submission: Submission) -> Command:
    """Return the program of the Lisp that a bot needs."""
    return (submission.spec.compiler or LANGUAGES[submission.spec.language].compilers[0],)


PACKAGE_OF = {
    "cv2": "opencv-python-headless",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "bs4": "beautifulsoup4",
    "dateutil": "python-dateutil",
}
"""The names of packages that differ from the name of their module, by module."""


MISSING_MODULE = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)


def requires_hint(fault: Evidence) -> str:
    """Return a hint for a missing module: the line of bot.toml that names its package, or the file to add."""
    found = MISSING_MODULE.search(fault.stderr.decode(errors="replace"))
    module = found[1].partition(".")[0] if found else ""
    return f'requires = ["{PACKAGE_OF.get(module, module)}"] in bot.toml, or put {module}.py into its folder'


CARGO = "Cargo.toml"


def build_rust(submission: Submission, _question: Command) -> list[Step]:
    """Return the steps that compile Rust: a file, or the program of a Cargo package."""
    if submission.spec.entry == CARGO:
        program = cargo_program(submission)
        moving = 'mv "target/release/$0" bot && rm -r target'
        return [
            Step((need("cargo"), "build", "--release", "--offline", "--target-dir=target", f"--bin={program}")),
            Step(("/bin/sh", "-c", moving, program)),
        ]
    return [Step((need("rustc"), "-O", "--edition=2021", "-o", "bot", submission.spec.entry))]


def cargo_program(submission: Submission) -> str:
    """Return the name of the program of a Cargo package: its `default-run`, or its first [[bin]], or its own name.

    If its Cargo.toml has none of them or is wrong, return the name of the bot: cargo reports the error.
    """
    try:
        described = read_untrusted(submission.folder / CARGO).data
        binaries = [described["package"].get("default-run"), *(each["name"] for each in described.get("bin", ()))]
        program = plain_string(next(filter(None, binaries), described["package"]["name"]))
    except (UserError, InvalidValue, KeyError, TypeError, AttributeError):
        return submission.name  # cargo reports what is wrong
    return program


def build_go(submission: Submission, _question: Command) -> list[Step]:
    """Return the step that compiles Go: all files, or the only package `main` of a module."""
    what = submission.spec.sources
    if "go.mod" in submission.files:
        programs = {str(PurePosixPath(name).parent) for name in what if GO_MAIN.search(source_text(submission, name))}
        what = (f"./{programs.pop()}" if len(programs) == 1 else ".",)
    return [Step((need("go"), "build", "-o", "bot", *what))]


GO_MAIN = re.compile(r"^package[ \t]++main\b", re.MULTILINE)


def go_environment(tmp: str) -> Mapping[str, str]:
    """Return the variables with which Go writes only into the temporary folder, and downloads nothing."""
    return {"GOCACHE": f"{tmp}/go-cache", "GOPATH": f"{tmp}/go", "GOFLAGS": "-buildvcs=false", "GOPROXY": "off"}


@cache
def haskell_libraries(_tmp: str) -> Mapping[str, str]:
    """Return LD_LIBRARY_PATH with the folders of GHC's libraries. GHC would find them through /proc, which sandboxes lack."""
    command = [need("ghc"), "--print-libdir"]
    libraries = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": PATH}).stdout.strip()
    folders = sorted({str(path.parent) for path in Path(libraries).rglob("libHS*.so")}) if libraries else []
    return {"LD_LIBRARY_PATH": ":".join(folders)}


SHELLS = frozenset({"sh", "bash", "dash"})


def line_end_problems(contents: FileTree, name: str) -> list[Problem]:
    """Return the reason why a shell cannot run a script: a line ends with CR LF, and the CR is a part of its last word."""
    for number, line in enumerate(contents.start_of(name, MAX_SOURCE_BYTES).splitlines(keepends=True), 1):
        if line.endswith(b"\r\n"):
            where = contents.where(name)
            message = f"line {number} ends with CR LF: the shell takes the CR as a part of the last word"
            return [Problem("B005", where, message, hint=rf"sed -i 's/\r$//' {shlex.quote(where)}")]
    return []


CURES: Mapping[str, Callable[[BuiltBot, Evidence], str]] = {
    "B006": lambda bot, _fault: f"rewrite it for Python 3; {python_2_cure(bot.spec.entry or 'FILE')}",
    "B011": lambda bot, _fault: main_hint(bot),
    "B041": lambda _bot, fault: requires_hint(fault),
}
"""The suggested fixes for symptoms that depend on the bot or its output, by the code of the symptom."""

FUNCTIONS: Mapping[str, Mapping[str, Any]] = {
    "java": {"build": build_java, "run": run_java},
    "python": {
        "run": run_python,
        "programs_of": python_programs,
        "source_problems": python_problems,
        "warm": WarmStart(warm_python, reason_not_warm_python),
    },
    "lisp": {"build": build_lisp, "run": run_lisp, "programs_of": lisp_programs},
    "bash": {"source_problems": lambda contents, name, _manifest: line_end_problems(contents, name)},
    "rust": {"build": build_rust},
    "go": {"build": build_go},
    "any": {"run": run_any, "programs_of": any_programs},
}
"""The fields of a row that need code, by the name of the language."""


ENVIRONMENTS: Mapping[str, Callable[[str], Mapping[str, str]]] = {"go": go_environment, "haskell": haskell_libraries}
"""Functions that return the environment variables of a build, given its temporary folder, by the language's name."""


def _row(name: str, facts: Mapping[str, Any]) -> Language:
    """Return a row of LANGUAGES, from a table of languages.toml."""
    values = _tuples(facts)
    parts = {"empty": EmptyBot, "starter": Starter, "project": Project}
    values |= {key: part(**_tuples(facts[key])) for key, part in parts.items() if key in facts}
    view = BuildView(**_tuples(facts.get("view", {})))
    values["view"] = view._replace(env=ENVIRONMENTS.get(name, view.env))
    if marks := facts.get("marks"):
        start = re.compile(marks["start"].encode()) if "start" in marks else None
        values["marks"] = Marks(start, re.compile(marks["interpreter"]))
    if output := facts.get("output"):
        crash = re.compile("|".join(output["crash"]), re.MULTILINE) if "crash" in output else None
        values["output"] = OutputHints(**output | {"crash": crash})
    symptoms = facts.get("symptoms", ())
    values["symptoms"] = tuple(Symptom(**each | {"pattern": re.compile(each["pattern"], re.M)}) for each in symptoms)
    if compiler := values.pop("compile", ()):
        values["build"] = partial(compiled, compiler)
    if interpreter := values.pop("interpret", ()):
        values["run"] = partial(interpreted, interpreter)
    return Language(name=name, **values, **FUNCTIONS.get(name, {}))


def _tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}


LANGUAGES: Mapping[str, Language] = {
    name: _row(name, facts)
    for name, facts in tomllib.loads(Path(__file__).with_name("languages.toml").read_text()).items()
}
JAVA, PYTHON, ANY = (LANGUAGES[name] for name in ("java", "python", "any"))

EXAMPLE = PYTHON
"""The language of the example for participants."""


def languages_with(key: str) -> list[str]:
    """Return the names of the languages that have `key` in bot.toml; [] for a key that a bot in any language may have."""
    return [row.name for row in LANGUAGES.values() if key in row.keys]


def language_of(suffix: str) -> Language:
    """Return the language of a source file by its suffix; ANY if no language has this suffix."""
    return next((row for row in LANGUAGES.values() if suffix in row.suffixes), ANY)


def fallback_language(suffix: str) -> Language:
    """Return the language of a file that the kernel cannot run, by its suffix; ANY if no language has this suffix."""
    return next((row for row in LANGUAGES.values() if suffix in row.fallback_suffixes), ANY)


def language_called(name: str) -> Language | None:
    """Return the language with a name: "rust", "js" (a suffix of its sources), "c++" or "sbcl" (one of its programs).

    Return None if there is none.
    """
    rows = LANGUAGES.values()
    by_tool = (row for row in rows if f".{name}" in row.suffixes or name in (*row.programs[-1:], *row.compilers))
    return LANGUAGES.get(name) or next(by_tool, None)


def missing(submission: Submission) -> list[str]:
    """Return the programs that a bot needs and this machine does not have."""
    row = LANGUAGES[submission.spec.language]
    wanted = row.programs_of(submission) if row.programs_of else row.programs
    if submission.spec.entry and fnmatchcase(submission.spec.entry, row.project.file):
        wanted += row.project.programs
    if submission.spec.build and not row.is_executable:
        wanted = ()  # the bot's own commands report a missing program
    return [name for name in (*wanted, *submission.spec.needs) if tool(name) is None]


HOME_FOLDERS = (
    ".local/bin",
    ".cargo/bin",
    "go/bin",
    ".ghcup/bin",
    ".sdkman/candidates/*/current/bin",
    ".nvm/versions/node/*/bin",
)
"""Folders below a home folder in which installers put toolchains."""


def in_a_home_folder(name: str) -> str:
    """Return the path of a program in folders that sandboxes do not show, for a hint; "" if there is none."""
    found = shutil.which(name)
    if found is None:
        home = Path.home()
        places = (str(path) for pattern in HOME_FOLDERS for path in home.glob(pattern))
        found = shutil.which(name, path=os.pathsep.join(places))
    return found or ""


def environment(argv: Command) -> dict[str, str]:
    """Return the small, fixed environment of a bot.

    A JVM finds its libraries through /proc, which sandboxes do not have. So the environment contains their path.
    """
    env = {"LANG": "C.UTF-8", "PATH": PATH, "HOME": "/tmp"}
    libraries = os.path.realpath("".join(argv[:1])).rsplit("/", 2)[0] + "/lib"
    if os.path.exists(f"{libraries}/libjli.so"):  # noqa: PTH110 - Path.exists raises if a name in `run` is too long
        env["LD_LIBRARY_PATH"] = libraries
    return env
