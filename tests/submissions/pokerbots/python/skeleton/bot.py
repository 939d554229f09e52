class Bot:
    """What a player can do."""
