"""Results that follow from the records of a run alone: course, standings, grades, logs."""
