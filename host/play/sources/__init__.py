"""Sources of questions: processes with the rules of a game. The interface between them and a match is in source.py."""
