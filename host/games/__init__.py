"""The rules of the games, pure: no clock, no process, no chance but luck.py's."""

from host.games import cardshark, holdem, pazaak
from host.games.engine import Game

GAMES: dict[str, Game] = {game.name: game for game in (cardshark.GAME, pazaak.GAME, holdem.GAME)}
