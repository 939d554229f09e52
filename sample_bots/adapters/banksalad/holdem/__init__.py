"""What a turn.py of 2018 imports: the names, parameters and results of the organisers' package, in our own words."""
