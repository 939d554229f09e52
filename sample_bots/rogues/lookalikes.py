# Answers with letters that only look like S: Cyrillic, fullwidth, overlong, behind a byte order mark. Verdict: unreadable.
import os
import sys

answers = (
    "\u0405\n".encode(),
    "\uff33\n".encode(),
    b"\xc1\x93\n",
    b"\xef\xbb\xbfS\n",
    "S\u200b\n".encode(),
    b"S\xa0\n",
)
os.write(1, answers[sum(map(len, sys.argv)) % len(answers)])
