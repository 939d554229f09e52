"""Serve a run live to browsers, read-only."""
