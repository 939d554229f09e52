"""Lets bots ask language models: a relay between the Unix socket in a sandbox and the one address that the organiser names."""
