"""The intake of a season: answers requests, and unpacks, examines and stores submissions."""
