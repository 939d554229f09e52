"""Rankings and their mathematics: what the results of bots say about their strength."""
