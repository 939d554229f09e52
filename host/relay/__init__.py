"""Lets bots ask language models: a relay between a socket in a sandbox and the addresses that the organiser names."""
