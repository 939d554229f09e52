"""Sources of questions: where the rules of a game run. The seam between a match and its tables is in source.py."""
