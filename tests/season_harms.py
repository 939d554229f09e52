"""Harms a season in tests: kills or stops any of its processes. Also bots in several languages that authors hand in."""

import contextlib
import random
import time
from collections import defaultdict
from pathlib import Path

import psutil
from helpers import workers_of
from season_process import TestSeason

STOPPED_SHARE, STOPPED_S = 0.2, 2.0
C_BOT = r"""
#include <stdio.h>
int main(void) {{ char line[4096]; while (fgets(line, sizeof line, stdin)) {{ puts("{answer}"); fflush(stdout); }} return 0; }} /* {note} */
"""  # noqa: E501
CPP_BOT = r"""
#include <iostream>
#include <string>
int main() {{ std::string line; while (std::getline(std::cin, line)) std::cout << "{answer}" << std::endl; }} // {note}
"""
JS_BOT = r"""
// {note}
require("readline").createInterface({{ input: process.stdin }}).on("line", () => console.log("{answer}"));
"""
SH_BOT = "#!/bin/sh\n# {note}\nwhile read -r line; do echo {answer}; done\n"
PY_BOT = "import sys\nfor line in sys.stdin:\n    print('{answer}', flush=True)  # {note}\n"
LANGUAGES = {"bot.c": C_BOT, "bot.cpp": CPP_BOT, "bot.js": JS_BOT, "bot": SH_BOT, "bot.py": PY_BOT}


def source(file: str, answer: str, note: str) -> bytes:
    """Return a bot of pazaak that always gives the same answer."""
    return LANGUAGES[file].format(answer=answer, note=note).encode()


def parts(season: TestSeason) -> dict[str, list[psutil.Process]]:
    """Return the processes of a season by what they are: not the bots and compilers in the sandboxes, only what holds them."""
    found = defaultdict[str, list[psutil.Process]](list)
    main = psutil.Process(season.pid)
    found["season"].append(main)
    workers = workers_of(season.pid)
    for process in main.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            if process in workers:
                found["worker"].append(process)
            elif words and Path(words[0]).name in ("bwrap", "keeper"):
                found["sandbox"].append(process)
            elif words and "python" in words[0] and "host" in " ".join(words):
                module = words[words.index("-m") + 1] if "-m" in words else "host"
                found["site" if module == "host" else module].append(process)
    return found


def harm(season: TestSeason, chance: random.Random) -> str:
    """Kill a process of a season, or stop it for two seconds. Return what has been done; "" if the process has just ended."""
    found = parts(season)
    kind = chance.choice(sorted(found))
    victim, stops = chance.choice(found[kind]), chance.random() < STOPPED_SHARE
    with contextlib.suppress(psutil.NoSuchProcess):
        if not stops:
            victim.kill()
            return f"{kind} killed"
        victim.suspend()
        time.sleep(STOPPED_S)
        victim.resume()
        return f"{kind} stopped"
    return ""
