"""The command `games`: lists the games, and prints what participants need to know about one."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.base.errors import Problem, UserError
from host.base.paths import SAMPLE_PREFIX
from host.cli import MAX_COLUMNS, CliContext, Facts, completers, print_result
from host.cli.common import wrap_prose
from host.games.engine import Game
from host.ops.bots import find_game
from host.rules.catalogue import LISTS

if TYPE_CHECKING:
    from host.rules.libraries import Playable

MAX_EXAMPLE = 300  # characters of an example
MAX_EXAMPLE_LINES = 9  # of the examples of a game


@click.command()
@click.argument("name", shell_complete=completers.games, metavar="[GAME]", required=False)
@click.option("--protocol", "handout", flag_value="protocol", help="print the parts of the manual for this game")
@click.option("--rules", "handout", flag_value="rules", help="print the rules of this game")
@click.option("--example", "handout", flag_value="example", help="print a complete bot in Python")
@click.option(
    "--openspiel", "library", flag_value="openspiel", help="list the games of OpenSpiel, and which cannot be played"
)
@click.option(
    "--textarena", "library", flag_value="textarena", help="list the games of TextArena, and which cannot be played"
)
@click.pass_obj
def games(context: CliContext, name: str | None, handout: str | None, library: str | None) -> None:
    """List the games. With a name, describe that game's questions and answers, with examples."""
    from host.games import GAMES

    if library:
        if name or handout:
            raise click.UsageError(f"--{library} lists all games: leave out GAME and the handouts")
        known = library_games(library)
        rows = [game._asdict() for game in known]
        print_result(context, "games", Facts({"rows": rows}, _library_lines(library, known)))
        return
    if name is None:
        if handout:
            raise click.UsageError(f"--{handout} needs a game: croupier games GAME --{handout}")
        own = [own.value for (key, _), own in context.registry.own().items() if key == "game"]
        print_result(context, "games", GameList([*GAMES.values(), *own]))
        return
    game = find_game(name, context.registry)
    if handout:
        from host.submissions.handouts import HANDOUTS

        text = HANDOUTS[handout](game)
        print_result(context, "games", Facts({"rows": [game_json(game) | {handout: text}]}, [text]))
    else:
        print_result(context, "games", GameList([game], complete=True))


class GameList(NamedTuple):
    """Games; `complete` prints everything about them, not just one line each."""

    games: list[Game]
    complete: bool = False

    def json(self) -> dict[str, Any]:
        """Return the games as JSON keys."""
        return {"rows": [game_json(game) for game in self.games]}

    def text(self) -> Iterator[str]:
        """Yield the games as lines."""
        for game in self.games:
            low, high = game.seats
            seats = f"{low}-{high} bots" if low != high else f"{low} bots"
            yield f"{game.name:<10} {game.title}   {seats} · {game.protocol} · presets {', '.join(game.presets)}"
            if self.complete:
                facts = game_json(game)
                yield f"\n{wrap_prose(game.card)}\n\nfields   {' '.join(facts['fields'])}\nanswers  {facts['answers']}"
                yield "examples"
                yield from _shortened(facts["examples"])
                yield f"json     {_cut(facts['json_example'])}"
                yield from _sample_lines(facts["samples"])


def _cut(example: str) -> str:
    return example if len(example) <= MAX_EXAMPLE else f"{example[:MAX_EXAMPLE]}…"


def _shortened(examples: list[str]) -> Iterator[str]:
    """Yield examples as indented lines that take at most MAX_EXAMPLE_LINES of a terminal, but at least one example."""
    taken = 0
    for example in examples:
        line = f"  {_cut(example)}"
        taken += math.ceil(len(line) / MAX_COLUMNS)
        if taken > MAX_EXAMPLE_LINES:
            return
        yield line


def library_games(library: str) -> "list[Playable]":
    """Return the games of a library. Raise UserError (exit code 3) if it is not installed."""
    from host.rules.libraries import NotPlayable

    try:
        return LISTS[library]()
    except NotPlayable as failed:
        raise UserError([Problem("C018", "", f"--{library} {failed}", hint=failed.hint)], 3) from failed


def _library_lines(library: str, games: "list[Playable]") -> Iterator[str]:
    """Yield a line for each game of a library that can be played, then the others with the reasons."""
    playable = [game for game in games if not game.obstacle]
    for game in playable:
        low, high = game.seats
        yield f"{library}:{game.name:<24} {game.title}   {f'{max(low, 2)}-{high}' if low != high else low} bots"
    yield f"\n{len(playable)} games can be played. {len(games) - len(playable)} cannot:"
    yield from (f"{game.name:<34} {game.obstacle}" for game in games if game.obstacle)


def _sample_lines(names: list[str]) -> Iterator[str]:
    """Yield the sample bots of a game; none for a game of the organiser's own."""
    if names:
        yield f"\nsample bots  {' '.join(f'{SAMPLE_PREFIX}{name}' for name in names)}"


def game_json(game: Game) -> dict[str, Any]:
    """Return one game as JSON keys."""
    from host.submissions.sample_bots import samples
    from protocols import PROTOCOLS

    return {
        "game": game.name,
        "title": game.title,
        "seats": list(game.seats),
        "protocol": game.protocol,
        "presets": list(game.presets),
        "fields": list(game.view._fields),
        "answers": game.grammar.expected,
        "examples": [PROTOCOLS["lines"].encode(view).decode().rstrip() for view in game.examples],
        "samples": sorted(samples(game.name)),
        "json_example": PROTOCOLS["json"].encode(game.examples[0]).decode().rstrip(),
    }
