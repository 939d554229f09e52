"""Which game is this: croupier's own games, an organiser's module, a game.toml with a referee, OpenSpiel. Starts no processes."""
