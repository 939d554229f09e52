"""Provides what all packages share: errors, paths, configuration files, safe text."""
