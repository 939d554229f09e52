"""Tournaments: which bots play each other, and how they are ranked."""
