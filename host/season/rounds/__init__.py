"""The rounds of a season: the scheduler, the loop that plays them, the ladder."""
