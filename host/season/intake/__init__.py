"""What takes in the submissions of a season: doors, requests, unpacking, examination, practice."""
