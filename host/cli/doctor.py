"""Commands about the machine: doctor, explain, version."""

import os
import platform
from textwrap import shorten
from typing import NoReturn

import click

from host import __version__
from host.cli import CliContext, completion, print_json, unknown_name


@click.command()
@click.pass_obj
def version(context: CliContext) -> None:
    """Print versions."""
    facts = {
        "croupier": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
    }
    if context.json:
        print_json("version", **facts)
    else:
        click.echo("  ".join(f"{name} {value}" for name, value in facts.items()))


@click.command()
@click.argument("code", shell_complete=completion.codes)
@click.pass_obj
def explain(context: CliContext, code: str) -> None:
    """Explain an error code: what it means, why it happens and what to do."""
    from host.base.errors import explanations, lookup
    from host.cli.common import wrap_prose

    code = code.upper()
    if code not in explanations():
        raise click.UsageError(unknown_name("code", code, explanations()))
    title, text = lookup(code)
    if context.json:
        print_json("explain", code=code, title=title, text=text)
    else:
        click.echo(f"{code}  {title}\n\n{wrap_prose(text)}")


@click.command()
@click.option("--attack", is_flag=True, help="play some rogues of the gallery, each beside an honest bot")
@click.argument("rogues", nargs=-1)
@click.pass_obj
def doctor(context: CliContext, attack: bool, rogues: tuple[str, ...]) -> None:
    """Look at the machine: isolation, clock, toolchains; every lack with its cure. Exit code 6 without a sandbox.

    With --attack also when a rogue did not get its verdict; ROGUES names those to play (sample_bots/rogues).
    """
    import trio

    if attack:
        _attack(context, rogues)
    if rogues:
        raise click.UsageError(f"{rogues[0]}: rogues are played with --attack")
    from host.backends.local import usable_cores
    from host.base.format import duration
    from host.cli.clock_benchmark import measured_clocks
    from host.sandbox.detect import clock_problem, detect, randomizes_pids
    from host.sandbox.limits import CLOCKS
    from host.submissions.languages import LANGUAGES, tool

    here = detect()
    cores = usable_cores()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    languages, missing = {}, []
    for row in LANGUAGES.values():
        lacks = [name for name in row.programs if tool(name) is None]
        languages[row.name] = not lacks
        if lacks:
            missing.append({"language": row.name, "programs": lacks, "cure": f"apt install {row.package}"})
    offered = [clock for clock in CLOCKS if clock_problem(clock, here.level) is None]
    measured = trio.run(measured_clocks, here.level) if here.level.traits.isolates else None
    if context.json:
        print_json(
            "doctor",
            croupier=__version__,
            cores=cores,
            sandbox=here.level,
            mechanisms=[mechanism._asdict() for mechanism in here.mechanisms],
            problems=[problem._asdict() for problem in here.reasons],
            draws_numbers=randomizes_pids(here.level),
            clocks=measured and measured | {"offered": offered},
            languages=languages,
            missing=missing,
        )
        raise click.exceptions.Exit(0 if here.level.traits.isolates else 6)

    click.echo(
        f"croupier {__version__} · Python {platform.python_version()} · {platform.system()} {platform.release()} · "
        f"{cores} core{'s' if cores > 1 else ''} · {memory:.0f} GiB"
    )
    marks = [
        f"{'✓' if works else '!'} {' '.join(filter(None, (name, words)))}" for name, works, words in here.mechanisms
    ]
    click.echo(f"isolation {here.level:<4}    {'  '.join(marks)}")
    if not here.level.traits.isolates:
        click.echo("          ✗ bots of strangers cannot be run here")
        for problem in here.reasons:
            click.echo(str(problem))
    else:
        for line in here.level.traits.lacks:
            click.echo(f"          {line}")
        if not randomizes_pids(here.level):
            click.echo(
                "          process numbers are counted on here: an argv bot can tell how many it has had (docs/security.md)"
            )
        for problem in here.reasons:
            click.echo(f"          {problem.message}{': ' if problem.evidence else ''}{problem.evidence}")
            click.echo(f"          a higher level by: {problem.hint}")
    if measured:
        told = {name: duration(seconds) for name, seconds in measured.items()}
        click.echo(
            f"clocks    {', '.join(offered)}: an answer is noted {told['error']} after it was given "
            f"(99 of 100: {told['error_p99']}), a deadline {told['late']}"
        )
        click.echo(
            f"          a fresh /bin/true by argv: {told['ask']}, bare spawn {told['spawn']}; pipe round trip {told['pipe']}"
        )
        if (lack := clock_problem("fair", here.level)) is not None:
            click.echo(f"          {lack.message}      {lack.hint}")
    compilers = {
        row.name: f" ({', '.join(filter(tool, row.compilers))})" for row in LANGUAGES.values() if row.compilers
    }
    shown = [name + compilers.get(name, "") for name, good in languages.items() if good]
    click.echo(f"languages {' · '.join(shown)}")
    for each in missing:
        click.echo(f"missing   {each['language']}: {', '.join(each['programs'])}      {each['cure']}")
    raise click.exceptions.Exit(0 if here.level.traits.isolates else 6)


def _attack(context: CliContext, names: tuple[str, ...]) -> NoReturn:
    """Print what becomes of the rogues at this machine's level; exit with 6 when one did not get its verdict."""
    import trio

    from host.cli.attack import attacked, gallery
    from host.sandbox.detect import detect, require_level
    from host.sandbox.levels import DEFAULT_LEVEL

    here = detect().level
    level = here if here.traits.isolates else require_level(DEFAULT_LEVEL)
    rogues = gallery(level)
    for name in names:
        if name not in rogues:
            raise click.UsageError(unknown_name("rogue", name, rogues))
    verdicts = trio.run(attacked, level, [rogues[name] for name in names] or [it for it in rogues.values() if it.short])
    held = all(verdict.mark != "✗" for verdict in verdicts)
    if context.json:
        print_json("attack", sandbox=level, held=held, rows=[verdict._asdict() for verdict in verdicts])
        raise click.exceptions.Exit(0 if held else 6)
    wide = max(len(verdict.rogue) for verdict in verdicts)
    click.echo(f"attack at level {level}, each rogue beside an honest bot")
    for mark, rogue, tries, got, took in verdicts:
        click.echo(f"  {mark} {rogue:<{wide}}  {got:<26} {took:5.1f} s   {shorten(tries, 90, placeholder=' …')}")
    lost, tried = sum(v.mark == "✗" for v in verdicts), sum(v.mark != "!" for v in verdicts)
    click.echo(
        f"{tried - lost} of {tried} got their verdict" + ("" if held else ": bots of strangers are not safe here")
    )
    raise click.exceptions.Exit(0 if held else 6)
