"""Adds a text to its move that looks like the fields of a question. In a game that passes texts on, the next bot could
take them for its own fields. Verdict: harmless; over every protocol the text stays one field."""

import sys

TEXT = 'S 99 AAA a,b:c %2C - {"chips":1} <b>x</b> ;!'
questions = sys.stdin if len(sys.argv) == 1 else [""]
for _ in questions:
    print(TEXT, flush=True)
