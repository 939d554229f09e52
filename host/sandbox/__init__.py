"""Where a process runs: a sandbox is made once, with a keeper as its first process. Knows nothing of bots.

levels says what there is, detect what this machine can give, launch makes a sandbox, keeper talks to its first process.
Imports nothing: commands that only read limits and levels start faster.
"""
