"""A season: people submit bots, a ladder of rounds runs until a deadline, and a final decides. See docs/season.md."""

import os

# As in host/rating/strength_of_many.py: numpy's threads save no time here, and would use processor time that bots need.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
