"""Shared by all packages: errors, paths, configuration files, safe text."""
