"""`python -m host` is the command `croupier`."""

from host.cli import main

main()
