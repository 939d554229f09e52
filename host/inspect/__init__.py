"""Examine what was recorded: play tables again, ask recorded questions again, verify a journal."""
