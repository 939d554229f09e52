"""Loads, runs, corrects and estimates tournaments."""
