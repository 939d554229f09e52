"""Writes a swiss stage as a tournament report of FIDE (TRF), which pairing programs read.

The columns are those of "Tournament Report File, format TRF16" (FIDE C.04 Annex 2), with the code XXR of JaVaFo for the
number of rounds. A set is one game; the bot whose name comes first has White, because sets have no colour.
"""

from typing import TextIO

from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.inspect.visibility import still_running, visible
from host.journal.journal import Journal
from host.results.course import Position, positions_of
from host.stages.picture import Rounds
from host.stages.swiss import Swiss, rounds_of

MAX_NAME_CHARS = 33
RESULTS = {1.0: "1", 0.5: "=", 0.0: "0"}
BYE, ABSENT = "0000 - U", "0000 - Z"


def write_trf(journal: Journal, selection: str | None, spoilers: bool, file: TextIO) -> int:
    """Write a swiss stage, by default the last one. Return the number of its bots.

    Raise UserError if there is no such stage, or if it is still running.
    """
    stages = {each.state.name: each for each in positions_of(journal) if isinstance(each.config, Swiss)}
    if not stages or selection not in (None, *stages):
        hint = f"croupier export trf {next(iter(stages))}" if stages else "croupier export csv"
        named = f"no swiss stage {selection!r}" if selection else "no swiss stage"
        raise UserError([Problem("U001", str(journal.path), f"there is {named}", hint=hint)], 2)
    position = stages[selection or [*stages][-1]]
    if position.state.name not in visible(journal, spoilers).stages:
        raise still_running(position.state.name)
    bots, config = position.shown_bots, position.config
    assert isinstance(config, Swiss)
    games = _games(position, {bot: number for number, bot in enumerate(bots, 1)})
    ranks = {row.bot: row.rank for row in position.standings.rows}
    title = one_line(f"{position.tournament.run.name}, {position.state.name}")
    lines = [f"012 {title}", f"062 {len(bots)}", "092 Individual: Swiss-System"]
    for number, bot in enumerate(bots, 1):
        points = sum(gained for gained, _ in games[bot])
        name = one_line(bot)[:MAX_NAME_CHARS]
        about = f"001 {number:>4}      {name:<33}{'':33}{points:>4.1f} {ranks[bot]:>4}"
        lines.append("  ".join([about, *(shown for _, shown in games[bot])]))
    file.write("\n".join([*lines, f"XXR {rounds_of(config, len(bots))}", ""]))
    return len(bots)


def _games(position: Position, number: dict[str, int]) -> dict[str, list[tuple[float, str]]]:
    """Return the points of each bot in each round, and its game as columns: opponent, colour, result."""
    picture = position.kind.picture
    rounds = picture(position.config, position.shown_bots, position.recorded) if picture else Rounds(())
    assert isinstance(rounds, Rounds)
    games: dict[str, list[tuple[float, str]]] = {bot: [] for bot in number}
    for each in rounds.rounds:
        found = dict.fromkeys(number, (0.0, ABSENT))
        if each.bye in found:
            found[each.bye] = (1.0, BYE)
        for played in each.sets:
            for colour, bot, other, points in zip("wb", played.bots, reversed(played.bots), played.points, strict=True):
                found[bot] = (points, f"{number[other]:>4} {colour} {RESULTS[points]}")
        for bot, game in found.items():
            games[bot].append(game)
    return games
