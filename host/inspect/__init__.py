"""Examine recorded fixtures: play tables again, ask recorded questions again, verify a journal."""
