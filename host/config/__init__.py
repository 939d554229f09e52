"""Reads croupier.toml, describes its keys, and loads the organiser's own code that it names."""
