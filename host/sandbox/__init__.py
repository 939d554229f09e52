"""Runs processes in sandboxes. A sandbox is created once; its first process is a keeper. Knows nothing of bots.

levels lists the levels of isolation, detect finds the level of this machine, launch creates a sandbox, and keeper
communicates with its first process. This file imports nothing, so that commands that only read limits and levels start
faster.
"""
