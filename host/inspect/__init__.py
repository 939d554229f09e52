"""Examines what was recorded: plays tables again, asks recorded questions again, verifies a journal."""
