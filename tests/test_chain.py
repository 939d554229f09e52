"""The chain of a journal: what a line says, what it hides, and that every alteration of a journal is found."""

import hashlib
import json
import zlib

import msgspec
import pytest

from host.play.records import Record, Result
from host.results import chain

pack = msgspec.msgpack.encode
SALT = bytes(range(chain.SALT_BYTES))
RECORD = Record("s/a+b/1", {"a": Result(1, 1, 3, 3, 3, 3)}, {"b": {"crash": 1}}, {}, (), (), b"", benched=("b",))
STORED = chain.StoredFixture(
    number=7,
    path="s/a+b/1",
    stage="s",
    at=1700000000.25,
    about={"game": "pazaak", "rules": {"hands": 3}, "plan": "independent", "path": "s/a+b/1", "bots": ["a", "b"]},
    versions=[1, 3],
    summary=pack(RECORD),
    seats=zlib.compress(pack([[0, 1], [1, 0]])),
    scores=zlib.compress(pack([[3, 0], [1, 3]])),
    answers=zlib.compress(b"DRAW,STAND\nSTAND"),
    times=b"",
    banks=b"",
    faults=[(9, "b", "crash", pack(["b", 1, 2, "crash", "", b"5 K", b"\xff", b"a secret on stderr"]))],
    states=[("a", zlib.compress(b"what a keeps"))],
)


def test_canonical_json_is_one_line_of_ascii_with_sorted_keys() -> None:
    value = {"z": [1, 0.1, 1e-7, True, None], "a": {"é\n": "\udcff\u2028"}}
    text = chain.canonical(value)
    assert text == '{"a":{"\\u00e9\\n":"\\udcff\\u2028"},"z":[1,0.1,1e-07,true,null]}'
    assert text.isascii() and text.isprintable()
    assert chain.canonical(chain.parsed(text)) == text
    with pytest.raises(ValueError, match="not JSON compliant"):
        chain.canonical(float("nan"))


@pytest.mark.parametrize("text", ['{"a": 1}', '{"b":1,"a":2}', '{"a":1,"a":1}', "1.50", '"é"', "01", "", "[1]\n"])
def test_a_text_that_is_spelled_otherwise_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        chain.parsed(text)


def test_the_seal_is_the_hash_of_a_line_that_holds_the_seal_before() -> None:
    first = chain.line_after("", "terms", {"game": "pazaak"})
    second = chain.line_after(chain.seal_of(first), "stage", {"name": "s", "status": "running"})
    assert first == '{"before":"","terms":{"game":"pazaak"}}'
    assert chain.seal_of(first) == hashlib.sha256((first + "\n").encode()).hexdigest()
    assert json.loads(second)["before"] == chain.seal_of(first)
    assert chain.content_of(second, "stage", chain.seal_of(first)) == {"name": "s", "status": "running"}


@pytest.mark.parametrize(
    "line", ['{"before":"","terms":1}', '{"before":"x","stage":1}', '{"before":"","more":1,"stage":1}', "[]", "{}", "x"]
)
def test_a_line_of_another_kind_or_place_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        chain.content_of(line, "stage", "")


def test_a_fixture_shows_its_results_and_hides_answers_evidence_and_states() -> None:
    content = chain.fixture_content(STORED, SALT)
    shown = {key: content[key] for key in content.keys() - {"answers", "private", "rules"}}
    assert shown == {
        "number": 7,
        "path": "s/a+b/1",
        "stage": "s",
        "at": 1700000000.25,
        "game": "pazaak",
        "plan": "independent",
        "bots": ["a", "b"],
        "versions": [1, 3],
        "seats": [[0, 1], [1, 0]],
        "scores": [[3, 0], [1, 3]],
        "faults": {"b": {"crash": 1}},
        "benched": ["b"],
        "replayed": 0,
    }
    line = chain.line_after("", "fixture", content)
    assert not [hidden for hidden in ("DRAW", "secret", "keeps", b"secret".hex()) if hidden in line]
    assert content["answers"] == hashlib.sha256(SALT[:16] + b"DRAW,STAND\nSTAND").hexdigest()
    other = chain.fixture_content(STORED, bytes(chain.SALT_BYTES))
    assert {key for key in content if content[key] != other[key]} == {"answers", "private"}


def test_every_part_of_a_fixture_changes_its_line() -> None:
    line = chain.canonical(chain.fixture_content(STORED, SALT))
    others = {
        "number": 8,
        "stage": "t",
        "at": 1700000000.5,
        "about": {**STORED.about, "plan": "mirrored"},
        "versions": [2, 3],
        "summary": pack(RECORD._replace(seconds=1.0)),
        "seats": zlib.compress(pack([[1, 0], [1, 0]])),
        "scores": zlib.compress(pack([[3, 0], [1, 2]])),
        "answers": zlib.compress(b"DRAW,STAND\nDRAW"),
        "times": zlib.compress(pack([[1, 1, 20, 3]])),
        "banks": zlib.compress(pack([[1, 1, 900]])),
        "faults": [(9, "b", "crash", pack(["b", 1, 2, "crash", "", b"5 K", b"\xff", b"another"]))],
        "states": [("a", zlib.compress(b"another"))],
    }
    assert others.keys() | {"path"} == {*STORED._fields}
    for key, value in others.items():
        assert chain.canonical(chain.fixture_content(STORED._replace(**{key: value}), SALT)) != line, key
    with pytest.raises(ValueError, match="another fixture"):
        chain.fixture_content(STORED._replace(path="s/a+c/1"), SALT)


def test_the_keys_that_differ_are_named() -> None:
    old = {"config": {"limits": {"max_faults": 3}, "stages": [{"name": "a"}, {"name": "b"}]}, "began": None}
    new = {"config": {"limits": {}, "stages": [{"name": "a"}, {"name": "c"}]}, "began": 1.5}
    assert list(chain.differing(old, new)) == [
        ("began", None, 1.5),
        ("config.limits.max_faults", 3, "absent"),
        ("config.stages.2.name", "b", "c"),
    ]
    assert not list(chain.differing(old, old))
