"""Begins a run, or continues it: chooses its level, draws its seed, and writes its terms and its bots."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from host import __version__
from host.base import paths
from host.base.errors import Problem, UserError
from host.bots.bot_spec import BuiltBot
from host.config.difference import terms_of
from host.config.tournament_config import Tournament
from host.games.luck import digest_of
from host.journal.reader import Journal, reading
from host.journal.state import RecordedBot, RunState, RunStatus
from host.journal.tournament_dir import START_AGAIN, Folder, commitment
from host.journal.writer import JournalWriter
from host.sandbox.levels import NO_SANDBOX, UNPROTECTED, Level
from host.tournament.additions import Additions, late_problems, raised_keys, record_additions
from host.tournament.fixture_size import fewest_tables
from host.tournament.loading import RESTORE_TO_CONTINUE, changed_config
from host.tournament.stage_runner import Backend


async def choose_level(
    backend: Backend,
    tournament: Tournament,
    folder: Folder,
    say: Callable[[str], None],
    *,
    fresh: bool = False,
    unsafe: bool = False,
) -> Level:
    """Return the level to play at: the level at which the run began if it is still possible, otherwise the backend's level.

    Raise UserError (exit code 6) if the backend cannot provide the level that the config demands.
    """
    wanted = UNPROTECTED if unsafe else tournament.level
    here = await backend.demand(wanted)
    if not wanted.traits.isolates:
        say(f"{NO_SANDBOX}; this is recorded in the results")
        return wanted
    return _as_it_began(tournament, folder, here, fresh=fresh)


def _as_it_began(tournament: Tournament, folder: Folder, here: Level, *, fresh: bool) -> Level:
    """Return the level at which a run began if it is strong enough and still possible, otherwise the level `here`."""
    if fresh or not folder.has_journal:
        return here
    with reading(folder.journal, tournament.registry) as journal:
        deque(journal.records(), 0)  # read all records, so that damage is found before anything is played or written
        began = journal.state().level if journal.begun else here
    return began if tournament.level <= began <= here else here


def open_run(
    journal: JournalWriter,
    folder: Folder,
    tournament: Tournament,
    bots: Sequence[BuiltBot],
    level: Level,
    reason: str = "",
) -> bytes:
    """Write the state and the bots of a run; if it has begun, first check that only additions have changed it.

    Return the bytes from which all cards follow (`RunState.root`). `reason` is recorded with additions. Raise UserError
    if anything else has changed, or if the seed is not the seed of the run, or not the committed seed.
    """
    added = check_unchanged(journal, tournament, bots, level)
    if tournament.seed == "random" and not journal.begun:
        folder.create_seed()
    seed = folder.seed(tournament.seed)
    promised = folder.committed() if tournament.seed == "random" else None
    other = journal.begun and journal.state().seed_sha256 != commitment(seed)
    broken = "that this run began with" if other else ""
    if promised and promised.sha256 != commitment(seed):
        broken = "that was committed to"
    if broken:
        hint = f"restore the old one, or {START_AGAIN}"
        raise UserError([Problem("R010", str(folder.seed_file), f"is not the seed {broken}", hint=hint)], 3)
    record_additions(journal, added, reason, revealed=bool(added.late) and folder.revealed(journal))
    began = journal.state()
    committed = began.committed if journal.begun else promised.at if promised else None
    bound = began.bound if journal.begun else entered_digest(tournament, bots)
    known = replace(began, level=level, seed_sha256=commitment(seed), committed=committed, bound=bound)
    record_run(journal, known, tournament, bots)
    return known.root(seed)


def entered_digest(tournament: Tournament, bots: Sequence[BuiltBot]) -> str:
    """Return the digest of the entered bots in hexadecimal if the seed is bound to them, otherwise ""."""
    entered = (bytes.fromhex(bot.sha256) for bot in bots if bot.name not in tournament.guests)
    return digest_of(entered).hex() if tournament.bind_seed else ""


def check_unchanged(journal: Journal, tournament: Tournament, bots: Sequence[BuiltBot], level: Level) -> Additions:
    """Return the additions since the run began.

    Raise UserError if the run cannot take them, or if it began with another config, other bots, or another level.
    """
    if not journal.begun:
        return Additions()
    state, before = journal.state(), journal.bots()
    where = str(tournament.path)
    problems = changed_config(journal, tournament)
    now = {bot.name: bot.sha256 for bot in bots}
    for name in before.keys() & now.keys():
        if before[name].sha256 != now[name]:
            old, new = before[name].sha256[:8], now[name][:8]
            message = f"changed since this run began (sha256 {old}… → {new}…); the results would mix two bots"
            hint = f"restore it, or add it under a new name, or  croupier add FILE --replace {name} --reason …"
            problems.append(Problem("R002", name, message, hint=hint))
    if left := sorted(before.keys() - now.keys()):
        message = f"the list of bots has changed since this run began: {', '.join(left)} removed"
        problems.append(Problem("R004", where, message, hint=RESTORE_TO_CONTINUE))
    late = [bot for bot in bots if bot.name not in before]
    problems += late_problems(tournament, journal, [bot.name for bot in late])
    if state.level != level:
        message = f"this run began at level {state.level.label}, but the level is now {level.label}"
        unsafe = f"croupier run --unsafe continues it, or {START_AGAIN}"
        hint = RESTORE_TO_CONTINUE if state.level.traits.isolates else unsafe
        problems.append(Problem("R007", where, message, hint=hint))
    if problems:
        raise UserError(problems, 3)
    return Additions(late, raised_keys(state.configs, tournament.stages))


def with_terms(known: RunState, tournament: Tournament, bots: Sequence[BuiltBot] = ()) -> RunState:
    """Return the state `known` with the terms and the stages of a tournament.

    `bots` are the bots at the start of the run: the size of fixtures depends on them. A stage that `known` already has
    keeps its status and its bots.
    """
    terms = replace(
        known,
        game=tournament.game.name,
        name=tournament.name,
        terms=terms_of(tournament),
        guests=sorted(tournament.guests),
        parallel_tables=tournament.run.parallel_tables,
    )
    known, number = terms.with_stages(*tournament.stages), fewest_tables(tournament.game, bots, 2)
    return known.with_stages(*(stage.with_fixture_tables(number) for stage in known.configs))


def record_run(journal: JournalWriter, known: RunState, tournament: Tournament, bots: Sequence[BuiltBot]) -> None:
    """Write the state of the run, and its bots. `known` is its state so far, with level and hash of the seed."""
    state = replace(
        with_terms(known if journal.begun else replace(known, stages=()), tournament, bots),
        status=RunStatus.RUNNING,
        version=__version__,
        machine=paths.describe_machine(),
        began=known.began or time.time(),
    )
    journal.set_state(state)
    for name in journal.bots().keys() - {bot.name for bot in bots}:
        journal.delete_bot(name)
    fixed = journal.bots() if journal.begun else {}  # once fixtures are played, the rows of their bots must not change
    for bot in (bot for bot in bots if bot.name not in fixed):
        journal.add_bot(RecordedBot.of(bot))
