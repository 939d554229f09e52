"""The languages croupier knows by name: how each is built and run; any other program is `any`."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from host.sandbox.limits import MIB
from host.submissions.bot_spec import Spec

PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where a bot's programs are looked for: the places that exist inside a sandbox."""

INTERPRETER = Path(__file__).parents[1] / "sandbox" / "fork_server.py"

Command = tuple[str, ...]


class Step(NamedTuple):
    """One command of a build. An optional one makes the bot faster: when it fails, the bot runs without it."""

    command: Command
    optional: bool = False


class Language(NamedTuple):
    """A row: which files are in it, what must be installed, how they become a program, how that is started.

    `build` may look at the sources; `run` gets the names of the files that the build left.
    """

    name: str
    suffixes: tuple[str, ...]  # of a lone file that is a bot; the first is the usual one
    sources: tuple[str, ...]  # of the files that are compiled
    programs: tuple[str, ...]
    package: str  # Debian's
    build: Callable[[Spec, Command], list[Step]]  # (the spec, the arguments of a first question)
    run: Callable[[Spec, frozenset[str]], Command]
    hello: str  # a whole program that answers S, whatever it is asked by argv


@cache
def tool(name: str) -> str | None:
    """Return the real path of an installed program that sandboxes can see; None when there is none."""
    found = shutil.which(name, path=PATH)
    return str(Path(found)) if found else None


def need(name: str) -> str:
    """Return a program's path, or its bare name where `missing` has already said that it is not installed."""
    return tool(name) or name


def missing(spec: Spec) -> list[str]:
    """Return the programs that this bot needs and this machine lacks."""
    wanted = LANGUAGES[spec.language].programs
    if spec.language == "python":
        wanted = (python(spec),)
        if spec.python.startswith(">=") and tool("python3") and version_of("python3") < numbers(spec.python):
            wanted = (f"python3 {spec.python}",)
    if spec.language == "lisp":
        wanted = (spec.compiler or "sbcl",)
    if spec.language == "any" and spec.run and "/" not in spec.run[0]:
        wanted = (spec.run[0],)
    if spec.build and spec.language != "any":
        wanted = ()  # its own commands build it; they say what they miss
    return [name for name in (*wanted, *spec.needs) if tool(name) is None]


def own_build(spec: Spec) -> list[Step]:
    """Return the manifest's own build commands."""
    return [Step(("/bin/sh", "-c", line)) for line in spec.build]


def build_c(spec: Spec, _question: Command) -> list[Step]:
    """Compile C as lax as 2011 wrote it: a missing header is a warning, whatever the compiler's age."""
    lax = ("-std=gnu17", "-Wno-error=implicit-function-declaration", "-Wno-error=implicit-int")
    return [Step((need("cc"), "-O2", *lax, "-o", "bot", *spec.sources, "-lm"))]


def build_cpp(spec: Spec, _question: Command) -> list[Step]:
    """Compile C++."""
    return [Step((need("c++"), "-O2", "-std=gnu++20", "-o", "bot", *spec.sources, "-lm"))]


def run_program(_spec: Spec, _files: frozenset[str]) -> Command:
    """Run what the compiler made."""
    return ("./bot",)


JAVA_LEAN = (
    *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ActiveProcessorCount=1"),
    *("-XX:-UsePerfData", "-Xshare:auto", "-Xlog:disable", "-Xlog:all=warning:stderr", "-Xss1m"),
)
PACKAGE = re.compile(r"^\s*package\s+([\w.]+)\s*;", re.MULTILINE)
MAIN = re.compile(r"\bstatic\s+(?:final\s+)?void\s+main\s*\(")
TYPE = re.compile(r"\b(?:class|record|enum|interface)\s+(\w+)")


def main_class(spec: Spec) -> str:
    """Return the class that has the `main`: the manifest's, else the one found in the sources."""
    if spec.main:
        return spec.main
    for source in spec.sources:
        text = (spec.folder / source).read_text(errors="replace")
        if not MAIN.search(text):
            continue
        package = PACKAGE.search(text)
        stem = Path(source).stem
        types = TYPE.findall(text)
        return (package[1] + "." if package else "") + (stem if stem in types or not types else types[0])
    return Path(spec.sources[0]).stem if spec.sources else "Main"


def java(spec: Spec, *options: str) -> Command:
    """Return the start of a JVM that is small, quick to start, and takes one core."""
    heap = max(spec.heap // MIB, 8) if spec.heap else 128
    return (need("java"), *JAVA_LEAN, f"-Xmx{heap}m", *options, "-cp", "bot.jar", main_class(spec))


def build_java(spec: Spec, question: Command) -> list[Step]:
    """Compile Java, put it into a jar, and archive the classes that a first question loads."""
    return [
        Step((need("javac"), "-encoding", "UTF-8", "-nowarn", "-d", "classes", *spec.sources)),
        Step((need("jar"), "--create", "--file", "bot.jar", "-C", "classes", ".")),
        Step((*java(spec, "-XX:ArchiveClassesAtExit=bot.jsa"), *question), optional=True),
    ]


def run_java(spec: Spec, files: frozenset[str]) -> Command:
    """Run the jar, with its class-data archive if the build could make one."""
    return java(spec, *(["-XX:SharedArchiveFile=bot.jsa"] if "bot.jsa" in files else []))


STARTER = (
    "import builtins, sys; builtins.exit = builtins.quit = sys.exit; sys.path += {packages!r}; "
    "sys.stdout.reconfigure(line_buffering=True); del sys.argv[0]; __file__ = sys.argv[0]; "
    "exec(compile(open(__file__, 'rb').read(), __file__, 'exec'))"
)
"""Starts a Python bot so that each line it prints leaves at once, and in one piece: -u makes a `print` two writes.

-S, without what `site` would do but its folders of packages and its exit(), halves the time that a start takes.
"""


READY = (
    "import builtins, sys; builtins.exit = builtins.quit = sys.exit; sys.path += {packages!r}; del sys.path[0]; "
    "sys.stdout.reconfigure(line_buffering=True); del sys.argv[0]; __file__ = sys.argv[0]; "
    "home = {{}}; exec({text!r}, home); globals().pop('home')['serve'](__file__, {guest!r}, {kit!r}, globals())"
)
"""Starts the same way an interpreter that is kept, and forks for every start. -E: what a bot requires is for it alone."""

Kit = Mapping[str, tuple[str, str]]
"""An adapter's modules, file and text by name; `__main__` is its program."""


@cache
def packages(program: str) -> tuple[str, ...]:
    """Return the folders in which an installed Python keeps its packages, those that sandboxes can see."""
    command = [need(program), "-I", "-c", "import site; print(*site.getsitepackages(), sep=chr(10))"]
    told = subprocess.run(command, capture_output=True, text=True, check=False, env={}).stdout
    return tuple(folder for folder in told.splitlines() if folder.startswith("/usr/") and Path(folder).is_dir())


def run_python(spec: Spec, _files: frozenset[str]) -> Command:
    """Run a script, its standard output line-buffered."""
    return script(spec, spec.entry)


def script(spec: Spec, entry: str) -> Command:
    """Return the start of a Python script."""
    program = python(spec)
    return (need(program), "-B", "-S", "-c", STARTER.format(packages=[*packages(program)]), entry)


def warm(spec: Spec, kit: Kit) -> Command:
    """Return the command of an interpreter that forks this bot for every start; empty where there can be none.

    The words that the cold start's command has beyond it are the fork's arguments.
    """
    if cold_because(spec):
        return ()
    program = python(spec)
    entry, _ = kit.get("__main__", (spec.entry, ""))
    text = INTERPRETER.read_text()
    ready = READY.format(packages=[*packages(program)], text=text, guest=spec.entry, kit={**kit})
    return (need(program), "-B", "-ES", "-c", ready, entry)


def cold_because(spec: Spec) -> str:
    """Return why a bot can have no warm start; empty when it can.

    Nothing of a Python bot may run in the interpreter that forks it: no module in the place of the library's, nothing that
    an environment names.
    """
    hiding = [name for name in spec.files if name.partition("/")[0].partition(".")[0] in sys.stdlib_module_names]
    if spec.language != "python" or spec.run or (spec.protocol not in ("", "argv") and not spec.adapter):
        return "only a Python script that is asked by argv can be kept warm"
    if hiding:
        return f"its own {hiding[0]} hides the library's"
    return "its bot.toml has `env`" if spec.env else ""


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, ">=3.11" or "3.12"."""
    return tuple(map(int, re.findall("[0-9]+", version)))


@cache
def version_of(program: str) -> tuple[int, ...]:
    """Return the version of an installed Python."""
    command = [need(program), "-c", "import sys; print(*sys.version_info[:3])"]
    return numbers(subprocess.run(command, capture_output=True, text=True, check=False, env={}).stdout)


def python(spec: Spec) -> str:
    """Return the program that runs a Python bot: python3, or the one version that its manifest names."""
    if not spec.python or spec.python.startswith(">="):
        return "python3"
    return "python" + ".".join(map(str, numbers(spec.python)[:2]))


def no_build(_spec: Spec, _question: Command) -> list[Step]:
    """Build nothing."""
    return []


def build_lisp(spec: Spec, _question: Command) -> list[Step]:
    """Compile for SBCL; a source that only loads as a script stays one."""
    if spec.compiler not in ("", "sbcl"):
        return []
    compile_it = (
        f'(multiple-value-bind (made warned failed) (compile-file "{spec.entry}" :output-file "bot.fasl")'
        " (declare (ignore warned)) (when (and failed made) (delete-file made))"
        " (sb-ext:exit :code (if (or failed (null made)) 1 0)))"
    )
    bare = ("--noinform", "--no-sysinit", "--no-userinit", "--non-interactive")
    return [Step((need("sbcl"), *bare, "--eval", compile_it), optional=True)]


def beside(spec: Spec, name: str) -> str:
    """Return a file in the folder of a bot's script, where a Lisp puts what it has compiled."""
    return str(PurePosixPath(spec.entry).with_name(name))


def run_lisp(spec: Spec, files: frozenset[str]) -> Command:
    """Run the script in the manifest's Lisp, never into its debugger."""
    match spec.compiler:
        case "ecl":
            return (need("ecl"), "--norc", "--shell", spec.entry)
        case "clisp":
            return (need("clisp"), "-q", "-norc", spec.entry)
    compiled = beside(spec, "bot.fasl")
    heap = ("--dynamic-space-size", f"{max(spec.heap // MIB, 32)}MB") if spec.heap else ()
    return (need("sbcl"), *heap, "--script", compiled if compiled in files else spec.entry)


def run_any(spec: Spec, _files: frozenset[str]) -> Command:
    """Run what the manifest says, or the lone file itself."""
    first, *rest = spec.run or (f"./{spec.entry}",)
    return (first if "/" in first else need(first), *rest)


C_HELLO = '#include <stdio.h>\nint main(void) { puts("S"); return 0; }\n'
JAVA_HELLO = 'public class Hello { public static void main(String[] a) { System.out.println("S"); } }\n'

LANGUAGES: Mapping[str, Language] = {
    row.name: row
    for row in (
        Language("c", (".c",), (".c",), ("cc",), "gcc libc6-dev", build_c, run_program, C_HELLO),
        Language(
            "cpp", (".cpp", ".cc", ".cxx"), (".cpp", ".cc", ".cxx"), ("c++",), "g++", build_cpp, run_program, C_HELLO
        ),
        Language(
            *("java", (".java",), (".java",), ("java", "javac", "jar"), "default-jdk-headless"),
            *(build_java, run_java, JAVA_HELLO),
        ),
        Language("python", (".py",), (".py",), ("python3",), "python3", no_build, run_python, 'print("S")\n'),
        Language(
            "lisp", (".lisp", ".lsp", ".cl"), (".lisp",), ("sbcl",), "sbcl", build_lisp, run_lisp, '(format t "S~%")\n'
        ),
        Language("any", (), (), (), "", no_build, run_any, "#!/bin/sh\necho S\n"),
    )
}


def environment(argv: Command) -> dict[str, str]:
    """Return the fixed, small environment of every bot.

    A JVM and its tools find their own libraries through /proc, which no sandbox has.
    """
    env = {"LANG": "C.UTF-8", "PATH": PATH, "HOME": "/tmp"}
    libraries = Path(*argv[:1]).resolve().parent.parent / "lib"
    if (libraries / "libjli.so").exists():
        env["LD_LIBRARY_PATH"] = str(libraries)
    return env
