"""Runs bots: starts their processes in a sandbox, asks them questions, and enforces their limits."""
