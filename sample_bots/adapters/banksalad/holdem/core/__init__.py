"""Cards, decks and the values of hands."""
