"""The commands of seasons."""
