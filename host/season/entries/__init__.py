"""Authors, submissions and versions of a season: its store, and the inbox of requests."""
