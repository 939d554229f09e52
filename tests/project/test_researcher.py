"""The tour of a researcher: a game of one's own, variants of a bot, OpenSpiel, exports, and a cluster of two workers."""

import csv
import io
import json
from pathlib import Path

import pytest
from command import Done, answers_in, croupier, croupier_process
from machines import machines, until
from test_adding_a_game import laid_out
from test_cluster import present

VARIANT = """\
import os, sys
limit = int(os.environ["LIMIT"])
for line in sys.stdin:
    total = sum(map(int, line.split()[3].split(",")))
    print("END" if total < limit else "STAND", flush=True)
"""
VARIANTS = range(1, 21)


def done(*words: object, folder: Path, code: int = 0) -> Done:
    """Run a command in a folder; check its exit code."""
    told = croupier(*words, cwd=folder)
    assert told.code == code, told
    return told


@pytest.mark.proof
def test_twenty_variants_of_one_bot_differ_in_an_environment_variable(tmp_path: Path) -> None:
    lab = tmp_path / "lab"
    done("new", lab, "-g", "pazaak", folder=tmp_path)
    for limit in VARIANTS:
        variant = lab / "bots" / f"limit{limit:02}"
        variant.mkdir()
        (variant / "bot.py").write_text(VARIANT)
        (variant / "bot.toml").write_text(f'env = {{ LIMIT = "{limit}" }}\n')
    config = (lab / "croupier.toml").read_text()
    (lab / "croupier.toml").write_text(config.replace("100_000", "10").replace('"random"  ', '"lab"     '))
    done("run", folder=lab)
    told = done("standings", "--json", folder=lab).json
    assert len(told["rows"]) == len(VARIANTS) and told["rows"][-1]["bot"] < "limit06"
    compared = done("compare", "limit17", "limit02", "--seed", "lab", "--json", folder=lab).json
    assert (compared["accepted"], compared["new"], compared["old"]) == ("H1", "limit17", "limit02")
    rows = list(csv.DictReader(io.StringIO(done("export", "csv", folder=lab).out)))
    assert len(rows) == 2 * 10 * len(VARIANTS) * (len(VARIANTS) - 1) // 2
    assert {row["bot"] for row in rows} == {row["bot"] for row in told["rows"]}
    differing = done("ask", "limit17", "limit02+limit17/1", "--diff", "limit02", folder=lab).out
    assert "limit17 and limit02 differ" in differing and "limit17 END · limit02 STAND" in differing


@pytest.mark.proof
def test_a_game_of_ones_own_is_played_asked_and_exported(tmp_path: Path) -> None:
    laid_out(tmp_path)
    assert "ready to play" in done("check", "bots/copycat.py", folder=tmp_path).out
    done("run", folder=tmp_path)
    assert "copycat ahead of miser" in done("standings", folder=tmp_path).out
    done("verify", folder=tmp_path)
    assert " of 7 as then" in done("ask", "copycat", "last", folder=tmp_path).out
    assert done("export", "jsonl", "-o", "tables.jsonl", folder=tmp_path).out.startswith("tables.jsonl: 200 tables")
    events = [json.loads(line) for line in (tmp_path / "tables.jsonl").read_text().splitlines()]
    starts, ends = ([event for event in events if event["ev"] == f"table.{end}"] for end in ("start", "end"))
    assert len(starts) == len(ends) == 200 and {event["game"] for event in starts} == {"goofspiel"}
    written = done("init", "third.py", "-g", "goofspiel", folder=tmp_path).out
    check, play = [line.split()[1:] for line in written.splitlines()[1:]]
    assert "ready to play" in done(*check, folder=tmp_path).out
    assert not [word for word in play if word.startswith("sample:")]  # the game has no sample bots
    assert "third" in done(*play, folder=tmp_path).out


@pytest.mark.proof
def test_a_game_of_openspiel_is_played_as_its_page_says(tmp_path: Path) -> None:
    pytest.importorskip("pyspiel")
    game = "openspiel:leduc_poker(players=3)"
    assert "3 bots" in done("games", game, folder=tmp_path).out
    done("new", "cup", "--game", game, folder=tmp_path)
    cup = tmp_path / "cup"
    for language, name in (("python", "mine"), ("c", "second"), ("perl", "third")):
        done("-C", "cup", "init", "--lang", language, f"cup/bots/{name}", folder=tmp_path)
    config = (cup / "croupier.toml").read_text()
    (cup / "croupier.toml").write_text(config.replace("100_000", "12"))
    assert "ready to play" in done("-C", "cup", "check", "mine", folder=tmp_path).out
    assert "league is over" in done("-C", "cup", "run", folder=tmp_path).out
    assert len(done("standings", "--json", folder=cup).json["rows"]) == 3
    done("verify", folder=cup)
    assert "as then" in done("ask", "mine", "last", folder=cup).out
    outside = tmp_path / "outside"
    outside.mkdir()
    written = done("init", "b.py", "-g", game, folder=outside).out
    assert f"croupier check b.py -g '{game}'" in written and "sample:" not in written
    assert "ready to play" in done("check", "b.py", "-g", game, folder=outside).out
    assert "b#3" in done("play", "b.py", "b.py", "b.py", "-n", 6, "-g", game, folder=outside).out


@pytest.mark.proof
def test_a_cluster_of_two_workers_plays_the_same_tables(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    places = [tmp_path / where for where in ("here", "there")]
    for place in places:
        place.mkdir()
        laid_out(place)
        config = (place / "croupier.toml").read_text()
        (place / "croupier.toml").write_text('seed = "lab"\n' + config)
    assert croupier_process("run", cwd=places[0]).code == 0
    with machines("one", "two") as cluster:
        until(lambda: {"one", "two"} <= set(present(cluster.address)))
        played = croupier_process("run", "--cluster", cluster.address, cwd=places[1])
    assert played.code == 0, played.err
    here, there = (answers_in(place / "run" / "run.sqlite") for place in places)
    assert here and here == there
    assert "200 tables" in done("verify", folder=places[1]).out
