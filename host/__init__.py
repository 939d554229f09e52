"""croupier: programs written in any language play each other, each in a sandbox of its own."""

__version__ = "0.1.0"
