"""What bots and models say to each other is recorded if the organiser wants it, and an author can replay it without a model."""

import json
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import test_open_answers
from command import croupier
from helpers import SAMPLES, level
from model_server import PROMPT_TOKENS, serving
from test_models import KEY
from test_models import tournament as tournament_in

from host.base.errors import UserError
from host.relay.recording import END, MAX_ALL_BYTES, MAX_BOT_BYTES, read_recording

pytestmark = pytest.mark.skipif(not level().traits.own_namespaces, reason="models need a sandbox with namespaces")

SECRET = "xyzzy"
"""A word that only the model says."""


def recording(place: Path) -> Path:
    """Return the recording of the bot that asks a model."""
    return place / "run" / "models" / "asker.jsonl"


def lines_of(place: Path, bot: str = "asker") -> list[Any]:
    """Return the values of the lines of a recording."""
    text = recording(place).with_name(f"{bot}.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def tournament(folder: Path, address: str) -> Path:
    """Write a tournament with a bot that asks a model into a new folder."""
    folder.mkdir(exist_ok=True)
    return tournament_in(folder, address)


def recorded_in(place: Path) -> Path:
    """Let the runs of a tournament record."""
    config = place / "croupier.toml"
    text = config.read_text().replace("[models.small]", '[models]\nrecord = "run/models"\n\n[models.small]')
    config.write_text(text if "[limits]" in text else f'{text}\n[limits]\nmove = "30 s"\n')
    return place


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a tournament whose run was recorded. The model and its key are gone."""
    with monkeypatch.context() as keyed, serving() as server:
        keyed.setenv("A_KEY", KEY)
        server.said = f"{SECRET}\nEND"
        place = recorded_in(tournament(tmp_path / "arena", server.address))
        done = croupier("-C", place, "run")
        assert done.code == 0, done.err
        assert "WARNING" not in done.err
        heard = [body for _, _, body in server.heard[1:]]  # the first when the bot was prepared
    lines = lines_of(place)
    assert [line["request"] | {"model": "tiny"} for line in lines] == heard
    return place


def asked(place: Path, *words: object) -> Any:
    """Return what `croupier ask` says as JSON."""
    done = croupier("-C", place, "ask", *words, "--json")
    assert done.code == 0, done.err
    return done.json


ASKS = """
import os, socket, sys

def ask():
    with socket.socket(socket.AF_UNIX) as relay:
        relay.connect(os.environ["CROUPIER_MODEL_URL"].removeprefix("unix:"))
        body = b'{"model": "small", "messages": []}'
        head = b"POST /v1/chat/completions HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: %d\\r\\n\\r\\n"
        relay.sendall(head % len(body) + body)
        return b"".join(iter(lambda: relay.recv(65536), b""))

for question in sys.stdin:
"""


def write_bot(place: Path, protocol: str, answer: str) -> None:
    """Replace the bot that asks a model by one that answers each question with some lines of Python."""
    folder = place / "bots" / "asker"
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "bot.py").write_text(ASKS + answer)
    keys = f'game = "pazaak"\nprotocol = "{protocol}"\nmodels = ["small"]\nentry = "bot.py"\n'
    (folder / "bot.toml").write_text(f'name = "asker"\n{keys}')


def first_question(place: Path) -> str:
    """Return the first recorded question as `ask` names it."""
    line = lines_of(place)[0]
    return f"{line['fixture']}:{line['question']}"


# Recording.


def test_a_recording_has_every_exchange_and_only_its_owner_can_read_it(played: Path) -> None:
    file = recording(played)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in file.parent.iterdir()] == ["asker.jsonl"]
    for line in lines_of(played):
        assert json.loads(line["reply"])["choices"][0]["message"]["content"] == f"{SECRET}\nEND"
        assert (line["bot"], line["status"], line["nth"], line["prompt_tokens"]) == ("asker", 200, 1, PROMPT_TOKENS)
    assert KEY not in file.read_text() and "uthorization" not in file.read_text()
    assert not read_recording(file).broken


@pytest.mark.long
def test_without_the_key_nothing_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with serving() as server:
        place = tournament(tmp_path, server.address)
        assert croupier("-C", place, "run").code == 0
    assert not recording(place).parent.exists()


def test_nothing_that_is_published_has_a_recording(played: Path) -> None:
    public = played / "public"
    words = ("export", "public", public, "--bots")
    assert croupier("-C", played, *words).code == 0
    assert croupier("-C", played, "report").code == 0
    line = lines_of(played)[0]
    bundle = played / "asked.bundle"
    assert croupier("-C", played, "export", "bundle", first_question(played), "-o", bundle).code == 0
    exports = [croupier("-C", played, "export", "--format", form).out for form in ("json", "csv", "decisions", "jsonl")]
    files = [path for path in played.rglob("*") if path.is_file() and path.parent != recording(played).parent]
    assert len([path for path in files if path.is_relative_to(public)]) > 3 and played / "report.html" in files
    for text in [path.read_bytes().decode(errors="replace") for path in files] + exports:
        assert SECRET not in text and line["request"]["messages"][0]["content"] not in text
    config = next(path for path in files if path.is_relative_to(public) and path.name == "croupier.toml").read_text()
    assert "small" in config and "run/models" not in config


@pytest.mark.long
def test_a_bot_without_room_for_its_recording_plays_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with serving() as server:
        places = [recorded_in(tournament(tmp_path / name, server.address)) for name in ("own", "all")]
        full = [recording(places[0]), recording(places[1]).with_name("other.jsonl")]
        for path, size in zip(full, (MAX_BOT_BYTES, MAX_ALL_BYTES), strict=True):
            path.parent.mkdir(parents=True)
            with path.open("wb") as file:
                file.truncate(size)
        for place in places:
            done = croupier("-C", place, "run")
            assert done.code == 0, done.err
            assert done.err.count("asker.jsonl is full") == 1, done.err  # of two fixtures
            assert recording(place).read_bytes()[-len(END) :] == END
    assert recording(places[1]).read_bytes() == END
    with pytest.raises(UserError):
        read_recording(recording(places[0]))


@pytest.mark.long
def test_a_recording_that_cannot_be_written_ends_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with serving() as server:
        place = recorded_in(tournament(tmp_path, server.address))
        (place / "run").mkdir()
        (place / "run" / "models").write_text("a file")
        done = croupier("-C", place, "run")
    assert done.code == 0, done.err
    assert done.err.count("asker.jsonl cannot be written: File exists") == 1, done.err


@pytest.mark.long
def test_recordings_are_not_written_through_a_link_to_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    with serving() as server:
        place = recorded_in(tournament(tmp_path / "cup", server.address))
        (place / "run").mkdir()
        (place / "run" / "models").symlink_to(elsewhere)
        done = croupier("-C", place, "run")
    assert done.code == 0 and done.err.count("asker.jsonl cannot be written") == 1, done.err
    assert not [*elsewhere.iterdir()]


def test_a_file_of_wrong_lines_is_no_recording(tmp_path: Path) -> None:
    file = tmp_path / "asker.jsonl"
    file.write_bytes(b"{}\n" * 1000)
    assert read_recording(file).broken == 1000
    file.write_bytes(b"{}\n" * 1001)
    with pytest.raises(UserError, match="no exchanges with a model"):
        read_recording(file)


@pytest.mark.long
def test_a_run_that_was_killed_records_no_exchange_twice(tmp_path: Path) -> None:
    with serving(*["200"] * 8, "hold") as server:
        place = recorded_in(test_open_answers.tournament(tmp_path, server.address))
        test_open_answers.kill_when(place, partial(test_open_answers.has_heard, server, 9))
        before = lines_of(place, "asks")
        with recording(place).with_name("asks.jsonl").open("ab") as file:
            file.write(b'{"fixture":"a line that was not written to its e')
        server.released.set()
        done = croupier("-C", place, "run")
        assert done.code == 0, done.err
    found = read_recording(recording(place).with_name("asks.jsonl"))
    assert found.broken == 1 and len(found.exchanges) > len(before)
    assert [line["status"] for line in before].count(200) == 7  # the first was that of the preparation
    places = [(each.table, each.question, each.nth) for each in found.exchanges]
    assert len({*places}) == len(places)
    calls = test_open_answers.fixture_in(place).models["asks"]["small"].calls
    assert [each.status for each in found.exchanges].count(200) == calls


@pytest.mark.long
def test_a_fresh_run_removes_the_recordings_of_the_last_one(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    config = played / "croupier.toml"
    config.write_text(config.read_text().replace('record = "run/models"', ""))
    with serving() as server:
        address = config.read_text().partition('address = "')[2].partition('"')[0]
        config.write_text(config.read_text().replace(address, server.address))
        done = croupier("-C", played, "run", "--fresh")
    assert done.code == 0, done.err
    assert not recording(played).parent.exists()


# Replaying.


@pytest.mark.long
def test_a_replayed_question_has_the_answer_of_then(played: Path) -> None:
    one = asked(played, "asker", first_question(played), "--replay")
    assert one["reproduced"] and one["models"] == []
    table = asked(played, "asker", lines_of(played)[0]["fixture"], "--replay")
    answers = [line["question"] for line in lines_of(played) if line["fixture"] == lines_of(played)[0]["fixture"]]
    assert [row["number"] for row in table["rows"]] == answers
    assert table["reproduced"] and table["models"] == []
    assert asked(played, "asker", "--worst", "--same", "--replay")["reproduced"]


def test_a_replay_says_where_a_changed_prompt_differs(played: Path) -> None:
    prompt = played / "bots" / "asker" / "prompt.txt"
    prompt.write_text(prompt.read_text().replace("You play", "You win"))
    done = croupier("-C", played, "ask", "asker", first_question(played), "--replay")
    assert done.code == 0, done.err
    assert "request 1 is not the recorded one: " in done.out
    assert "You play Pazaak" in done.out and "You win Pazaak" in done.out
    assert "now      END" in done.out


@pytest.mark.long
@pytest.mark.parametrize(
    ("times", "note"), [(0, "0 requests now, 1 recorded"), (2, "the recording has no answer to request 2")]
)
def test_a_replay_says_where_a_bot_asks_more_or_less_than_then(times: int, note: str, played: Path) -> None:
    write_bot(
        played,
        "lines",
        f"""
    for _ in range({times}):
        got = ask()
    print("STAND" if {times} and got.startswith(b"HTTP/1.1 404") else "END", flush=True)
""",
    )
    said = asked(played, "asker", first_question(played), "--replay")
    assert any(each.endswith(note) for each in said["models"]), said["models"]
    assert said["rows"][0]["now"] == ("STAND" if times else "END")


@pytest.mark.long
def test_a_refused_answer_is_refused_again_in_a_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with serving() as server:
        place = recorded_in(tournament(tmp_path, server.address))
        config = place / "croupier.toml"
        config.write_text(config.read_text().replace('move = "30 s"', 'move = "30 s"\nretries = 1'))
        answer = """print('{"move": "END"}' if b" 200 " in ask() and "refused" in question else "prose", flush=True)"""
        write_bot(place, "json", f"    {answer}\n")
        assert croupier("-C", place, "run").code == 0
    assert [line["nth"] for line in lines_of(place)] == [1, 2] * (len(lines_of(place)) // 2)
    said = asked(place, "asker", lines_of(place)[0]["fixture"], "--replay")
    assert said["reproduced"] and said["models"] == [] and {row["now"] for row in said["rows"]} == {"END"}


@pytest.mark.long
def test_an_author_replays_a_bundle_with_a_recording_elsewhere(played: Path, tmp_path: Path) -> None:
    bundle, own = tmp_path / "asked.bundle", tmp_path / "own.jsonl"
    assert croupier("-C", played, "export", "bundle", first_question(played), "-o", bundle).code == 0
    shutil.copy(recording(played), own)
    with own.open("ab") as file:
        file.write(b'{"fixture":')
    elsewhere = tournament(tmp_path / "elsewhere", "http://127.0.0.1:1")
    said = asked(elsewhere, "asker", bundle, "--recording", own)
    assert said["reproduced"]
    (note,) = said["models"]
    assert note.startswith("left out 1 line of the recording")


def test_what_cannot_be_replayed_is_said(played: Path) -> None:
    question = first_question(played)
    for words, message in (
        (("asker", question), "--replay answers it from a recording"),
        (("asker", question, "--replay", "--diff", "asker"), "leave out --diff"),
        ((SAMPLES / "pazaak" / "nestor", question, "--as", "asker", "--replay"), "nestor asks no language model"),
        (("asker", question, "--recording", played / "none"), "there is no recording"),
        (("asker", question, "--recording", played / "bots"), "is a directory"),
    ):
        done = croupier("-C", played, "ask", *words)
        assert done.code == 2 and message in done.err, done.err
    first = recording(played).read_bytes().partition(b"\n")[0]
    header = first.replace(b'"left":{"requests"', b'"left":{"Requests-Left: 5\\r\\nX"')
    number = first.replace(b'"status":200', b'"status":99')
    assert len({first, header, number}) == 3
    recording(played).write_bytes(b"\n".join([b"\xff", b"[[[[", b"null", header, number, END]))
    said = asked(played, "asker", question, "--replay")
    assert said["models"][0].startswith("left out 5 lines of the recording")
    assert said["models"][1:] == [
        "the recording is full: later exchanges are not in it",
        f"question {lines_number(question)} at table 1: the recording has no answer to request 1",
    ]


def lines_number(question: str) -> str:
    """Return the number of a question."""
    return question.rpartition(":")[2]


def test_only_one_folder_can_have_recordings(tmp_path: Path) -> None:
    place = recorded_in(tournament(tmp_path, "http://127.0.0.1:1"))
    config = place / "croupier.toml"
    for said in ('"../models"', '"/tmp/x"', "true", '"run/open"'):
        config.write_text(config.read_text().replace('"run/models"', said))
        done = croupier("-C", place, "ls")
        assert done.code == 3 and "croupier.toml:10: record = " in done.err, done.err
        config.write_text(config.read_text().replace(f"record = {said}", 'record = "run/models"'))
