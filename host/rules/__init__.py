"""Finds the game that a name means: one of croupier, of an organiser's module, of a game.toml, or of a library.

The modules start no processes, except to try a game of OpenSpiel.
"""
