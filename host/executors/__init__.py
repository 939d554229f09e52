"""Who carries the work: fixtures go in, records come out, in whatever order they end (`Hands` in tournament/run.py)."""
