"""Programs that play tables by the rules of a game. Each of them is a separate process."""
