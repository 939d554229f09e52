"""Who plays whom, and what it amounts to."""
