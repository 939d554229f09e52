"""The rules of the games, pure: no clock, no process, no chance but luck.py's."""

from collections.abc import Mapping

from host.games import cardshark, holdem, pazaak
from host.games.engine import Game

GAMES: Mapping[str, Game] = {game.name: game for game in (cardshark.GAME, pazaak.GAME, holdem.GAME)}
