"""The tour of a club: bots in five languages, Hearts, a Swiss system, a double elimination, and all that comes between."""

import csv
import http.client
import io
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from command import CROUPIER, Done, croupier, environment
from machines import until

LANGUAGES = {"ann": "py", "bea": "c", "cleo": "java", "dan": "js", "eve": "pl"}
STAGES = """\
[[stage]]
name = "swiss"
kind = "swiss"
rounds = 3
tables_per_pairing = 20

[[stage]]
name = "final"
kind = "knockout"
elimination = "double"
seeding = "swiss"
set = 10
best_of = 3
min_bots = 4

"""


def done(*words: object, folder: Path, code: int = 0) -> Done:
    """Run a command in a folder; check its exit code."""
    told = croupier(*words, cwd=folder)
    assert told.code == code, told
    return told


def inbox(place: Path, game: str) -> Path:
    """Write a starter bot of each member as its author would; return their folder."""
    (place / "inbox").mkdir()
    for name, suffix in LANGUAGES.items():
        written = done("init", f"inbox/{name}.{suffix}", "-g", game, folder=place)
        assert f"croupier check inbox/{name}.{suffix}" in written.out
    return place / "inbox"


@contextmanager
def live_page(folder: Path) -> Iterator[str]:
    """Serve a tournament as its organiser does; return the address of the page."""
    command = [*CROUPIER, "serve", "--bind", "127.0.0.1:0", "--json", "-C", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment()) as server:
        assert server.stdout
        try:
            yield json.loads(server.stdout.readline())["url"]
        finally:
            server.send_signal(signal.SIGINT)


def page(url: str, path: str) -> str:
    """Return what a browser gets from a path of the live page."""
    with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)) as line:
        line.request("GET", path)
        answer = line.getresponse()
        assert answer.status == 200
        return answer.read().decode()


def ranked(folder: Path, stage: str) -> list[str]:
    """Return the bots of a stage in the order of its standings."""
    rows = csv.DictReader(io.StringIO(done("standings", stage, "--csv", folder=folder).out))
    return [row["bot"] for row in rows]


@pytest.mark.proof
def test_a_swiss_system_and_a_double_elimination_from_the_inbox_to_the_checked_result(tmp_path: Path) -> None:
    bots = inbox(tmp_path, "pazaak")
    done("new", "cup", "-g", "pazaak", "--kind", "knockout", folder=tmp_path)
    cup = tmp_path / "cup"
    config = (cup / "croupier.toml").read_text()
    before, after = config.index("[[stage]]"), config.index("[limits]")
    with_guests = config[:before].replace('"bots/*"', '"bots/*", "sample:neptr", "sample:nestor"')
    (cup / "croupier.toml").write_text(with_guests + STAGES + config[after:])
    committed = done("seed", "commit", folder=cup).out
    added = done("add", *sorted(bots.iterdir()), folder=cup).out
    assert "5 of 5 submissions added, 0 refused" in added
    late = bots / "fay.py"
    late.write_text((bots / "ann.py").read_text() + "# by another member\n")
    done("add", late, folder=cup)  # before the first table nobody is late
    listed = done("ls", folder=cup).out
    assert [line.split()[0] for line in listed.splitlines()] == [*LANGUAGES, "fay", "neptr", "nestor"]
    assert "swiss" in done("run", "--dry-run", folder=cup).out

    played = done("run", "--stage", "swiss", folder=cup).out
    (seal,) = [
        line.rpartition(" ")[2] for line in played.splitlines() if line.startswith("swiss is over; publish its seal")
    ]
    later = bots / "gus.py"
    later.write_text((bots / "ann.py").read_text() + "# too late\n")
    refused = done("add", later, folder=cup, code=3)
    assert refused.first.startswith('error[R004] croupier.toml: gus cannot join: stage "swiss" has begun')
    assert not [*(cup / "bots").glob("gus*")]

    rows = csv.DictReader(io.StringIO(done("export", "csv", folder=cup).out))
    fixtures = list(dict.fromkeys(row["fixture"] for row in rows))
    again = done("redo", fixtures[-1], "--reason", "power cut", folder=cup).out
    assert "power cut" in again and "croupier run" in again
    first = done("redo", fixtures[0], "--reason", "power cut", folder=cup, code=3)
    assert "error[R015]" in first.err  # the next round was paired by it
    left = done("withdraw", "eve", "--reason", "moved away", folder=cup, code=3)
    assert "error[R015]" in left.err  # the stage is under way again
    done("run", "--stage", "swiss", folder=cup)
    left = done("withdraw", "eve", "--reason", "moved away", folder=cup)
    assert "it does not play in final" in left.out

    with live_page(cup) as url:
        assert "eve" in page(url, "/") and '"finished"' not in page(url, "/api/run.json")
        done("run", folder=cup)
        until(lambda: json.loads(page(url, "/api/run.json"))["state"] == "finished")
        told = page(url, "/api/standings.json")
        assert "final" in told
    done("run", "--stage", "swiss", folder=cup)  # an earlier stage than the last one, when all have been played
    assert done("status", "--json", folder=cup).json["state"] == "finished"
    places = ranked(cup, "final")
    assert places[-1] == "eve" and len(places) == 8  # last in a stage in which it does not play
    assert ranked(cup, "swiss")[-1] == "eve"
    standings = done("standings", folder=cup).out
    assert "moved away" in standings and "power cut" in standings
    assert [row["bot"] for row in done("standings", "--overall", "--json", folder=cup).json["rows"]] == places
    shown = done("report", folder=cup)
    assert "report.html" in shown.out and all(name in (cup / "report.html").read_text() for name in LANGUAGES)

    seed = done("seed", "reveal", folder=cup).out
    value = seed.split()[1]
    assert committed.split()[1] in seed and "✓ the hash of this run's seed" in seed
    verified = done("verify", "--seal", seal, folder=cup).out
    assert f"seal {seal} covers 12 fixtures" in verified and "moved away" in verified
    done("export", "public", tmp_path / "public", "--bots", folder=cup)
    checked = subprocess.run(
        [sys.executable, "check.py", seal], cwd=tmp_path / "public", capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0 and "✓ the seed has the sealed hash" in checked.stdout, checked
    copied = shutil.copytree(cup, tmp_path / "copy", ignore=shutil.ignore_patterns("bots", "seed"))
    outside = done("verify", "--seed", value, "--seal", seal, folder=copied).out
    assert outside == verified


def test_a_withdrawal_says_which_stage_it_makes_too_small(tmp_path: Path) -> None:
    done("new", "cup", "-g", "pazaak", folder=tmp_path)
    cup = tmp_path / "cup"
    config = (cup / "croupier.toml").read_text()
    before, after = config.index("[[stage]]"), config.index("[limits]")
    samples = ", ".join(f'"sample:{name}"' for name in ("neptr", "dumb_bold", "dumb_cautious", "glaucus"))
    text = config[:before].replace('"bots/*"', samples) + STAGES.replace("rounds = 3", "rounds = 1") + config[after:]
    (cup / "croupier.toml").write_text(text)
    done("run", "--stage", "swiss", folder=cup)
    told = done("withdraw", "neptr", "--reason", "moved away", "--dry-run", folder=cup).out
    assert '  stage "final" is skipped: it needs 4 bots, and 3 reach it\n' in told


@pytest.mark.long
def test_an_evening_of_hearts_with_a_late_member_and_one_who_leaves(tmp_path: Path) -> None:
    bots = inbox(tmp_path, "hearts")
    done("new", "evening", "-g", "hearts", folder=tmp_path)
    evening = tmp_path / "evening"
    config = (evening / "croupier.toml").read_text()
    (evening / "croupier.toml").write_text(config.replace("100_000", "8"))
    assert "5 of 5 submissions added" in done("add", *sorted(bots.iterdir()), folder=evening).out
    played = done("run", folder=evening).out
    assert "league is over; publish its seal: " in played and "score" in played
    late = bots / "fay.py"
    late.write_text((bots / "ann.py").read_text() + "# by another member\n")
    refused = done("add", late, folder=evening, code=3)
    assert refused.first.startswith('error[R004] croupier.toml: fay cannot join: stage "league" has begun')
    assert "croupier run --fresh" in refused.err
    (fixture, *_) = dict.fromkeys(
        row["fixture"] for row in csv.DictReader(io.StringIO(done("export", "csv", folder=evening).out))
    )
    before = done("standings", "--csv", folder=evening).out
    done("redo", fixture, "--reason", "power cut", folder=evening)
    done("run", folder=evening)
    scores = [[row[key] for row in csv.DictReader(io.StringIO(text)) for key in ("bot", "score")]
              for text in (before, done("standings", "--csv", folder=evening).out)]  # fmt: skip
    assert scores[0] == scores[1]  # the same cards, and starter bots always answer alike
    left = done("withdraw", "eve", "--reason", "moved away", folder=evening).out
    assert " tables no longer count, for its opponents either" in left
    after = done("standings", folder=evening).out
    assert "moved away" in after
    done("withdraw", "eve", "--undo", "--reason", "is back", folder=evening)
    assert ranked(evening, "league") == scores[0][::2]
    assert " passes " in done("replay", "last", folder=evening).out
    done("verify", folder=evening)
    done("report", folder=evening)
