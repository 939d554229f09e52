"""Plays fixtures: connects tables with seats, and creates records."""
