"""What takes in submissions: requests from every door of a season, and the examination of what is handed in."""
