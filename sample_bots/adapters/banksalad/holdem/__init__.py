"""The package that a turn.py of 2018 imports: a new implementation with the same names, parameters and results."""
