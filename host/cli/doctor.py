"""The command `doctor`: reports what this machine provides, and plays rogues."""

import os
import platform
from collections.abc import Iterator, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from host import __version__
from host.base.errors import unknown_name
from host.base.format import counted, duration
from host.cli import CliContext, Facts, print_result
from host.sandbox.levels import DEFAULT_LEVEL, Level

if TYPE_CHECKING:
    from host.inspect.attack import RogueOutcome
    from host.sandbox.detect import HostCapabilities

INDENT = " " * 10  # of the lines below a heading


@click.command()
@click.option("--attack", is_flag=True, help="play some rogues (bots that attack the host), each with an honest bot")
@click.option("--models", is_flag=True, help="ask each model of croupier.toml one word: it may cost money")
@click.argument("rogues", nargs=-1)
@click.pass_obj
def doctor(context: CliContext, attack: bool, models: bool, rogues: tuple[str, ...]) -> None:
    """Report what this machine provides: isolation, clocks, languages; and how to install what is missing.

    The exit code is 6 if there is no sandbox. With --attack it is also 6 if a rogue did not get its expected verdict;
    ROGUES are the rogues to play, from sample_bots/rogues. With --models it is 6 if a model does not answer.
    """
    if attack and models:
        raise click.UsageError("--attack and --models are two different tests: choose one")
    if attack:
        _attack(context, rogues)
    if rogues:
        raise click.UsageError(f"{rogues[0]}: rogues are played with --attack")
    if models:
        _ask_models(context)
    report = diagnose_machine()
    print_result(context, "doctor", report)
    raise click.exceptions.Exit(0 if report.sandbox.level.traits.isolates else 6)


class LanguageSupport(NamedTuple):
    """A language, and the programs that its bots need and this machine lacks."""

    name: str
    missing: list[str]
    package: str  # provides the missing programs
    compilers: list[str]  # that are installed, of a language with several


class ClockReport(NamedTuple):
    """How bots are timed here, with measured errors in seconds."""

    counts_waits: bool  # whether the kernel counts waits for a processor, which then cost a bot no time
    measured: dict[str, float]


class MachineReport(NamedTuple):
    """What this machine provides."""

    cores: int
    memory_bytes: int
    sandbox: "HostCapabilities"
    randomizes_pids: bool
    clocks: ClockReport | None  # None without a sandbox
    languages: list[LanguageSupport]

    def json(self) -> dict[str, Any]:
        """Return the report as JSON keys."""
        clocks = self.clocks
        return {
            "croupier": __version__,
            "cores": self.cores,
            "sandbox": self.sandbox.level,
            "mechanisms": [mechanism._asdict() for mechanism in self.sandbox.mechanisms],
            "problems": [problem._asdict() for problem in self.sandbox.reasons],
            "draws_numbers": self.randomizes_pids,
            "clocks": clocks and clocks.measured | {"counts_waits": clocks.counts_waits},
            "languages": {language.name: not language.missing for language in self.languages},
            "missing": [
                {"language": language.name, "programs": language.missing, "cure": f"apt install {language.package}"}
                for language in self.languages
                if language.missing
            ],
        }

    def text(self) -> Iterator[str]:
        """Yield the report as lines."""
        system = f"{platform.system()} {platform.release()}"
        cores = f"{counted(self.cores, 'core')}"
        memory = f"{self.memory_bytes / (1 << 30):.0f} GiB"
        yield f"croupier {__version__} · Python {platform.python_version()} · {system} · {cores} · {memory}"
        yield from self._isolation()
        yield from self._clocks()
        yield from self._languages()

    def _isolation(self) -> Iterator[str]:
        level, reasons, mechanisms = self.sandbox
        marks = [f"{'✓' if works else '!'} {f'{name} {words}'.rstrip()}" for name, works, words in mechanisms]
        yield f"isolation {level.label}    {'  '.join(marks)}"
        if not level.traits.isolates:
            yield f"{INDENT}✗ bots of strangers cannot be run here"
            yield from map(str, reasons)
            return
        yield from (f"{INDENT}{line}" for line in level.traits.lacks)
        if not self.randomizes_pids:
            yield f"{INDENT}PIDs are sequential here: an argv bot can infer how often it was started (docs/security.md)"
        for problem in reasons:
            yield f"{INDENT}{problem.message}{': ' if problem.evidence else ''}{problem.evidence}"
            yield f"{INDENT}for a higher level: {problem.hint}"

    def _clocks(self) -> Iterator[str]:
        if self.clocks is None:
            return
        times = {name: duration(seconds) for name, seconds in self.clocks.measured.items()}
        yield (
            f"clocks    an answer is recorded {times['error']} after it was written "
            f"(99 of 100: {times['error_p99']}), a deadline {times['late']} late"
        )
        yield (
            f"{INDENT}a fresh /bin/true by argv: {times['ask']}, bare spawn {times['spawn']}; "
            f"pipe round trip {times['pipe']}"
        )
        waits = "do not count" if self.clocks.counts_waits else "count, because this kernel has no /proc/PID/schedstat"
        yield f"{INDENT}waits for a processor {waits}"

    def _languages(self) -> Iterator[str]:
        complete = [language for language in self.languages if not language.missing]
        names = [
            f"{language.name} ({', '.join(language.compilers)})" if language.compilers else language.name
            for language in complete
        ]
        yield f"languages {' · '.join(names)}"
        if lacking := [language for language in self.languages if language.missing]:
            wanted = " ".join(dict.fromkeys(" ".join(language.package for language in lacking).split()))
            yield f"missing   {', '.join(language.name for language in lacking)}      apt install {wanted}"


def diagnose_machine() -> MachineReport:
    """Measure what this machine provides; with a sandbox this takes about a second."""
    import trio

    from host.backends.placement import usable_cores
    from host.bots.run_queue import counts_waits
    from host.sandbox.clock_benchmark import measure_clocks
    from host.sandbox.detect import detect, randomizes_pids

    sandbox = detect()
    clocks = None
    if sandbox.level.traits.isolates:
        clocks = ClockReport(counts_waits(), trio.run(measure_clocks, sandbox.level))
    return MachineReport(
        cores=usable_cores(),
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        sandbox=sandbox,
        randomizes_pids=randomizes_pids(sandbox.level),
        clocks=clocks,
        languages=_languages(),
    )


def _languages() -> list[LanguageSupport]:
    from host.submissions.languages import LANGUAGES, tool

    return [
        LanguageSupport(
            name=row.name,
            missing=[name for name in row.programs if tool(name) is None],
            package=row.package,
            compilers=[name for name in row.compilers if tool(name)],
        )
        for row in LANGUAGES.values()
    ]


def _attack(context: CliContext, names: tuple[str, ...]) -> NoReturn:
    """Play rogues at this machine's level, print the verdicts, and exit: with 0 if all are as expected, else with 6."""
    import trio

    from host.inspect.attack import attacked, gallery
    from host.sandbox.detect import detect, require_level

    here = detect().level
    level = here if here.traits.isolates else require_level(DEFAULT_LEVEL)
    rogues = gallery(level)
    for name in names:
        if name not in rogues:
            raise click.UsageError(unknown_name("rogue", name, rogues))
    chosen = [rogues[name] for name in names] or [rogue for rogue in rogues.values() if rogue.short]
    verdicts = trio.run(attacked, level, chosen)
    held = all(verdict.mark != "✗" for verdict in verdicts)
    facts = {"sandbox": level, "held": held, "rows": [verdict._asdict() for verdict in verdicts]}
    print_result(context, "attack", Facts(facts, _attack_lines(level, verdicts, held=held)))
    raise click.exceptions.Exit(0 if held else 6)


def _ask_models(context: CliContext) -> NoReturn:
    """Ask each model of the tournament for one word, print the replies, and exit: with 0 if all answer, else with 6."""
    import trio

    from host.config.tournament_config import load
    from host.submissions.build import require_relay

    models = load(context.folder).limits.models
    if not models:
        raise click.UsageError("--models: croupier.toml has no table [models.NAME]")
    require_relay("--models")
    from host.relay.diagnosis import diagnose

    report = trio.run(diagnose, models)
    print_result(context, "models", report)
    raise click.exceptions.Exit(0 if report.all_answer else 6)


def _attack_lines(level: Level, verdicts: "Sequence[RogueOutcome]", *, held: bool) -> Iterator[str]:
    """Yield the verdicts as lines."""
    width = max(len(verdict.rogue) for verdict in verdicts)
    yield f"attack at level {level.label}, each rogue together with an honest bot"
    for mark, rogue, tries, got, seconds in verdicts:
        yield f"  {mark} {rogue:<{width}}  {got:<26} {seconds:5.1f} s   {shorten(tries, 90, placeholder=' …')}"
    wrong = sum(verdict.mark == "✗" for verdict in verdicts)
    played = sum(verdict.mark != "!" for verdict in verdicts)
    end = "" if held else ": bots of strangers are not safe here"
    yield f"{played - wrong} of {played} got the expected verdict{end}"
