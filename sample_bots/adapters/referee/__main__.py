"""Plays tables of a referee that was written for another host: python3 referee PROTOCOL [OPTIONS] -- COMMAND …

It speaks referee/1 on its standard input and output. PROTOCOL is brutaltester, codingame or botzone.
"""

import argparse
import sys

import botzone
import brutaltester
import codingame
from driver import Driver
from steps import Failed, Options

PLAYS = {"brutaltester": brutaltester.play, "codingame": codingame.play, "botzone": botzone.play}


def main() -> None:
    """Read the command line, and play."""
    parser = argparse.ArgumentParser(prog="referee", allow_abbrev=False)
    parser.add_argument("protocol", choices=sorted(PLAYS))
    parser.add_argument("--no-seed", dest="seed", action="store_false")
    parser.add_argument("--reuse", action="store_true")
    parser.add_argument("--keep-running", action="store_true")
    parser.add_argument("--fault", default=Options().fault)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    options = Options(given.seed, given.reuse, given.fault, given.keep_running, given.scale)
    try:
        Driver(given.command, PLAYS[given.protocol], options).run()
    except Failed as failed:
        sys.exit(f"{given.protocol}: {failed}")


main()
