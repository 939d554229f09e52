"""croupier.toml: what it may say, its reference, and the organiser's own code that it names."""
