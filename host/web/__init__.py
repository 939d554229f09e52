"""A run watched live in the browser, read-only."""
