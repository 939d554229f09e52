"""Looks into what was played: ask again, bundles, verification."""
