"""What a run says of a fixture without a result names what failed: the game, a model, or the space of a record."""

from pathlib import Path

import msgspec
import pytest
from command import croupier
from helpers import level

from host.base.errors import UserError
from host.games import GAMES
from host.play.records import Undecided, cause_text, undecided_record
from host.rules.catalogue import GameRef
from host.tournament.stage_runner import require_decided

ASKS = """
import os, socket
HEAD, BODY = b"POST /v1/chat/completions HTTP/1.1\\r\\nHost: x\\r\\n", b'{"model": "small", "messages": []}'
while input():
    with socket.socket(socket.AF_UNIX) as relay:
        relay.connect(os.environ["CROUPIER_MODEL_URL"].removeprefix("unix:"))
        relay.sendall(b"%bContent-Length: %d\\r\\n\\r\\n%b" % (HEAD, len(BODY), BODY))
        relay.recv(1000)
    print("STAND", flush=True)
"""
SILENT = """
game = "pazaak"
bots = ["bots/*", "sample:nestor", "sample:optimum", "sample:hk_47"]
[models.small]
address = "unix:/nobody/listens.sock"
patience = "1 ms"
"""
KNOCKOUT = SILENT + '[[stage]]\nkind = "knockout"\nset = 2\nmin_bots = 2\n'
SWISS = SILENT + '[[stage]]\nkind = "swiss"\ntables_per_pairing = 2\nrounds = 1\nmin_bots = 2\n'


@pytest.mark.long
@pytest.mark.skipif(not level().traits.own_namespaces, reason="models need a sandbox with namespaces")
@pytest.mark.parametrize(("config", "more"), [(KNOCKOUT, " in 3 sets; "), (SWISS, "; ")])
def test_a_silent_model_is_not_called_a_failure_of_the_game(config: str, more: str, tmp_path: Path) -> None:
    bot = tmp_path / "bots" / "asker"
    bot.mkdir(parents=True)
    (tmp_path / "croupier.toml").write_text(config)
    (bot / "bot.toml").write_text('protocol = "lines"\nmodels = ["small"]\n')
    (bot / "bot.py").write_text(ASKS)
    done = croupier("-C", tmp_path, "run")
    assert done.code == 7, done.err
    assert " is undecided: a model did not answer: asker: the model small does not answer: " in done.err
    assert " undecided: a model did not answer." in done.err
    verified = croupier("-C", tmp_path, "verify").out
    assert " undecided: a model did not answer, so there is nothing to check" in verified
    cause = {each["cause"] for each in croupier("-C", tmp_path, "faults", "--json").json["undecided"]}
    assert cause == {"model"}
    shown = " ".join(croupier("-C", tmp_path, "standings").out.split())
    assert f"undecided, because a model did not answer{more}" in shown
    assert " undecided: a model did not answer, no bot is charged; the last time: asker: " in shown
    status = croupier("-C", tmp_path, "status").out
    assert "undecided: a model did not answer\n" in status
    assert "the game failed" not in shown + status + done.err + verified
    assert croupier("-C", tmp_path, "withdraw", "asker", "--reason", "its model is gone").code == 0
    again = croupier("-C", tmp_path, "run")
    assert (again.code, "trying" in again.err) == (7, False), again.err
    assert "cannot be played again: what followed depends on it, or its bot is withdrawn." in again.err
    after = croupier("-C", tmp_path, "verify")
    assert after.code == 0, after.out


def test_several_causes_are_named_once_each() -> None:
    why = Undecided("it died")
    several = [why._replace(cause="model"), why, None, why._replace(cause="model"), why._replace(cause="size")]
    assert cause_text(several) == "the game failed or a model did not answer or the tables were too long to store"


def test_a_journal_without_causes_has_failures_of_games() -> None:
    stored = msgspec.msgpack.encode([*Undecided("it died")][:-1])
    assert msgspec.msgpack.decode(stored, type=Undecided).cause == "game"
    with pytest.raises(msgspec.ValidationError):
        msgspec.msgpack.decode(msgspec.msgpack.encode(Undecided("it died")._replace(cause="bot")), type=Undecided)  # type: ignore[arg-type]


def test_a_silent_model_ends_play_without_a_word_against_the_game_of_an_organiser() -> None:
    game = GAMES["pazaak"]._replace(ref=GameRef("games/mine/"))
    record = undecided_record("x/a+b", ("a", "b"), Undecided("a: the model small does not answer", cause="model"))
    with pytest.raises(UserError) as refused:
        require_decided(game, record)
    assert (refused.value.exit_code, refused.value.problems[0].code) == (6, "S020")
    with pytest.raises(UserError) as refused:
        require_decided(game, record._replace(undecided=Undecided("it died")))
    assert refused.value.exit_code == 3
