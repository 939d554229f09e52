"""Cards, decks and what hands are worth."""
