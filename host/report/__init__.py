"""Reports the results of a run to people and to programs, as text, pages and files."""
