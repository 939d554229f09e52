"""A season: people submit bots, a ladder of rounds runs until a deadline, and a final decides. See docs/season.md."""
