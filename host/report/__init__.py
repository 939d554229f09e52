"""Report what has been played, to people and to programs."""
