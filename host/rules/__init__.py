"""Which game is this: croupier's own games, an organiser's module, a game.toml with a referee, a library. Starts no processes."""
