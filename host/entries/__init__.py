"""Who has handed in what in a season: authors, submissions, versions, and the queue. One SQLite file stores them."""
