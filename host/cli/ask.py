"""The command `ask`: asks a bot a recorded question again. Also writes bundles: files with such a question."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.base.errors import unknown_with_list
from host.base.output import write
from host.base.paths import display_path
from host.cli import CliContext, options, print_result
from host.ops.journals import find_table, journal_of, split
from host.ops.level import level_in_force
from host.sandbox.levels import DEFAULT_LEVEL, Level

if TYPE_CHECKING:
    from host.bots.bot_spec import BuiltBot, Submission
    from host.cli.ask_report import AskReport, Difference
    from host.games.engine import Game
    from host.inspect.repro import Repro, Target
    from host.journal.reader import Journal
    from host.relay.recording import Replay

BUNDLE = ".bundle"
FAULT = re.compile(r"fault:([0-9]{1,18})")
FAULTY = "WHERE fault.kind != 'slowest'"


class AskOptions(NamedTuple):
    """The options of `ask`."""

    worst: bool
    same: bool
    other: str | None
    asked_bot: str | None
    replay: bool
    recording: Path | None
    unsafe: bool
    journal: Path | None


class Wanted(NamedTuple):
    """The bot and the question that the words of `ask` name; None if they do not name it."""

    bot: str | None
    where: str | None


class Questions(NamedTuple):
    """The questions to ask, and the paths of the bots that played, if the journal has them.

    `earlier` is True if --same would ask other questions first.
    """

    repro: "Repro"
    sources: Mapping[str, str] = {}
    earlier: bool = False


@click.command()
@click.argument("words", nargs=-1, metavar="[BOT] [TABLE[:N]|fault:ID|FILE]")
@click.option("--worst", is_flag=True, help="the bot's slowest decision")
@click.option("--same", is_flag=True, help="first ask what its process had been asked before, in the same order")
@click.option("--diff", "other", metavar="OTHER", help="ask this bot too, and print where the answers differ")
@click.option("--as", "asked_bot", metavar="NAME", help="ask what this bot was asked; default: the bot itself")
@click.option("--replay", is_flag=True, help="answer what the bot asks of models with what was recorded in run/models")
@click.option(
    "--recording",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="as --replay, with this recording",
)
@click.option("--unsafe", is_flag=True, help="play without a sandbox: only for bots you wrote yourself")
@options.JOURNAL
@click.pass_obj
def ask(context: CliContext, /, words: tuple[str, ...], **values: Any) -> None:
    """Ask a bot a recorded question again: one question, a whole table, a fault, or a bundle.

    The bot is asked alone. The time line shows CPU time, waiting for a core and sleeping.
    """
    print_result(context, "ask", _asked(context, words, AskOptions(**values)))


def _asked(context: CliContext, words: tuple[str, ...], chosen: AskOptions) -> "AskReport | Difference":
    """Ask the questions that the words name; return the replies."""
    import trio

    from host.cli.ask_report import AskReport, Difference
    from host.inspect.reask import asked_by_both, reask

    wanted = _parse_words(words, chosen)
    questions = _questions(context, wanted, chosen)
    repro = questions.repro
    level = level_in_force(DEFAULT_LEVEL, chosen.unsafe)
    names = [wanted.bot or repro.bot.name, *([chosen.other] if chosen.other else [])]
    models = _models(context, chosen, repro)
    bots = [_built(_spec(context, name, repro.game, questions.sources), repro, level, models) for name in names]
    if chosen.other:
        mine, theirs = asked_by_both(bots, repro, level)
        return Difference(place=repro.bot.name, game=repro.game, bots=bots, mine=mine, theirs=theirs)
    replies = trio.run(reask, bots[0], repro, level, models)
    report = AskReport(repro=repro, bot=bots[0], level=level, replies=replies, earlier=questions.earlier)
    return report._replace(models=models.all_notes()) if models else report


def _models(context: CliContext, chosen: AskOptions, repro: "Repro") -> "Replay | None":
    """Return the recorded answers of models to the bot that played; None without --replay."""
    if not (chosen.replay or chosen.recording):
        return None
    if chosen.other:
        raise click.UsageError("the recording has the answers to one bot: leave out --diff or --replay")
    from host.journal.tournament_dir import Folder
    from host.submissions.build import require_relay

    require_relay("--replay")
    from host.relay.recording import Replay, read_recording, recording_file

    path = chosen.recording or recording_file(Folder(context.folder).recordings, repro.bot.name)
    if not path.exists():
        hint = '`record = "run/models"` under [models] in croupier.toml lets `croupier run` write one'
        raise click.UsageError(f"there is no recording {display_path(path)}: {hint}")
    return Replay(read_recording(path), repro.fixture)


def _parse_words(words: tuple[str, ...], chosen: AskOptions) -> Wanted:
    """Return the bot and the question that the words of the command name."""
    if len(words) == 2 and chosen.worst:
        raise click.UsageError(f"--worst chooses the question, and {words[1]} names one: leave out one of the two")
    if len(words) == 2:
        return Wanted(bot=words[0], where=words[1])
    if len(words) == 1 and (FAULT.fullmatch(words[0]) or _is_file(words[0])):
        if chosen.worst:
            raise click.UsageError(f"--worst chooses the question, and {words[0]} names one: leave out one of the two")
        return Wanted(bot=None, where=words[0])
    if len(words) == 1 and chosen.worst:
        return Wanted(bot=words[0], where=None)
    raise click.UsageError("which bot, and which question? BOT TABLE:N, fault:ID, BOT --worst, or a bundle's FILE")


def _is_file(where: str) -> bool:
    return where.endswith(BUNDLE) or Path(where).is_file()


def _questions(context: CliContext, wanted: Wanted, chosen: AskOptions) -> Questions:
    """Return the questions, from a bundle or from a journal."""
    from host.inspect.bundle import unpacked
    from host.inspect.repro import repro_of, with_history
    from host.journal.reader import reading

    if wanted.where is not None and _is_file(wanted.where):
        return Questions(unpacked(Path(wanted.where), context.registry))
    target = None
    if wanted.where is None:
        path = journal_of(context.folder, chosen.journal)
    else:
        path, target = parse_target(context, chosen.journal, wanted.where)
    with reading(path, context.registry) as journal:
        sources = {name: recorded.source for name, recorded in journal.bots().items()}
        if chosen.asked_bot is not None and chosen.asked_bot not in sources:
            raise click.UsageError(unknown_with_list("bot", chosen.asked_bot, sources))
        own = wanted.bot
        if own is not None and own not in sources:
            own = _spec(context, own, journal.game, sources).name
        place = chosen.asked_bot or (own if own in sources else None) or ""
        if target is not None:
            target = target._replace(bot=chosen.asked_bot or target.bot or ("" if target.number else place))
            if not (target.bot or target.number):
                names = ", ".join(sources)
                raise click.UsageError(f"{own} did not play: --as NAME chooses whose questions to ask ({names})")
        target = target or _slowest(journal, place)
        if target is None:
            names = ", ".join(sources)
            message = (
                f"{place or own} was not asked anything in {path}: --as NAME asks it another bot's questions ({names})"
            )
            raise click.UsageError(message)
        repro = repro_of(journal, target)
        whole = with_history(journal, repro)
        if chosen.same or repro.bot.is_sent_history:
            repro = whole
    return Questions(repro, sources, earlier=whole.before != repro.before)


def _slowest(journal: "Journal", bot: str) -> "Target | None":
    """Return the slowest decision of a bot; None if it has made none."""
    from host.inspect.repro import Target

    found = list(journal.evidence("WHERE fault.kind = 'slowest' AND bot = ?", (bot,)))
    if not found:
        return None
    _, fixture, piece = max(found, key=lambda each: each[2].wall)
    return Target(fixture=fixture, nth=piece.table - 1, number=piece.number, bot=bot)


def parse_target(context: CliContext, journal: Path | None, where: str) -> "tuple[Path, Target]":
    """Return the journal and the questions meant by `fault:ID` or TABLE[:N]. Raise UsageError or UserError otherwise."""
    from host.inspect.repro import Target
    from host.journal.reader import reading

    match = FAULT.fullmatch(where)
    if match is None:
        table, number = split(where)
        location = find_table(context.folder, journal, table)
        return location.journal, Target(fixture=location.fixture, nth=location.nth, number=number)
    first = journal_of(context.folder, journal)
    with reading(first, context.registry) as book:
        found = book.fault(int(match[1]))
        if found and found[2].kind != "slowest":
            played, path, piece = found
            place = Target(fixture=path, nth=piece.table - 1, number=piece.number, bot=piece.bot)
            counts = book.place_of(path)
            return first, place if counts and counts[1] == played else place._replace(played=played)
    raise click.UsageError(f"there is no {where}; `croupier faults` names them")


def _spec(context: CliContext, word: str, game: "Game", sources: Mapping[str, str]) -> "Submission":
    """Return the bot that a word names. `sources` has the paths of the bots in the journal, by name."""
    from host.ops.bots import find_bots

    source = sources.get(word, "")
    if source and Path(source).exists() and not Path(word).exists():
        word = source
    (submission,) = find_bots(context.folder, (word,), game).submissions
    return submission


def _built(submission: "Submission", repro: "Repro", level: Level, models: "Replay | None") -> "BuiltBot":
    import trio

    from host.submissions.build import build

    limits = submission.limits
    if limits.models and models is None:
        hint = "--replay answers it from a recording"
        raise click.UsageError(f"{submission.name} asks a language model, and this command gives it none: {hint}")
    if models is not None and not limits.models:
        raise click.UsageError(f"{submission.name} asks no language model: leave out --replay")
    without_address = tuple(model._replace(address="", key_env="", key_file="") for model in limits.models)
    submission = submission._replace(limits=limits._replace(models=without_address))
    bot = trio.run(build, submission.for_game(repro.game), level)
    return bot._replace(limits=repro.bot.limits._replace(models=without_address))


class Export(NamedTuple):
    """The arguments and options of `export`."""

    form: str
    selection: str | None  # a stage, a table, fault:ID or `last`; for `public` the folder
    journal: Path | None
    output: Path | None  # None: standard output
    spoilers: bool
    with_bots: bool


def bundled(context: CliContext, export: Export) -> tuple[Path, int]:
    """Write a bundle with one question and its history. Return its path and the number of questions in it.

    The selection of the export is fault:ID, TABLE (its first fault), or TABLE:N; by default the last fault. Raise
    UsageError if there is no such fault.
    """
    from host.inspect.bundle import packed
    from host.inspect.repro import repro_of, with_history
    from host.journal.reader import reading
    from host.report.export import refuse_evidence

    path, target = parse_target(context, export.journal, _fault_or(context, export))
    with reading(path, context.registry) as journal:
        if not export.spoilers:
            refuse_evidence(journal, target.fixture)
        if not target.number:
            pieces = (piece for _, fixture, piece in journal.evidence(FAULTY) if fixture == target.fixture)
            piece = next((piece for piece in pieces if piece.table == target.nth + 1), None)
            if piece is None:
                where = export.selection
                raise click.UsageError(f"table {where} has no fault; {where}:N names any of its questions")
            target = target._replace(number=piece.number, bot=piece.bot)
        repro = with_history(journal, repro_of(journal, target))
    output = export.output or context.folder / f"{repro.table.replace('/', '-')}-{target.number}{BUNDLE}"
    write(output, packed(repro))
    return output, len(repro.before) + len(repro.asked)


def _fault_or(context: CliContext, export: Export) -> str:
    """Return the selection of an export; if there is none, `fault:ID` of the last fault in the journal.

    Raise UsageError if the journal has no fault.
    """
    from host.journal.reader import reading

    if export.selection not in (None, "last"):
        return str(export.selection)
    path = journal_of(context.folder, export.journal)
    with reading(path, context.registry) as journal:
        numbers = [number for number, _, _ in journal.evidence(FAULTY)]
    if not numbers:
        raise click.UsageError(f"{path} has no faults; TABLE:N names any question")
    return f"fault:{numbers[-1]}"
