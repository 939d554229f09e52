"""Runs processes in sandboxes. The first process of each sandbox, its keeper, starts and kills all others.

levels lists the levels of isolation, detect finds the level of this machine, launch creates a sandbox, and keeper
communicates with its first process. This file imports nothing, so that commands that only read limits and levels start
faster.
"""
