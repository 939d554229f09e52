"""Every kind of fault has a rogue, and no rogue achieves more than its verdict: none escapes or disturbs another bot."""

import re
import time
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import psutil
import pytest
import trio
from helpers import (
    AMPLE,
    CACHE,
    ROGUES,
    answers_of,
    built,
    faults_of,
    fixture_of,
    inhabitants,
    level,
    levels,
    nothing_left_behind,
    opened,
    spec_of,
    stray_files,
    worlds,
    written,
)

from host.base.errors import UserError
from host.base.safe_text import escape_control_chars
from host.bots.bot_spec import BuiltBot
from host.games import GAMES
from host.inspect.attack import BROKEN_OUT, HOST_CPU_S, Rogue, gallery
from host.play.jobs import Job
from host.play.records import Record
from host.sandbox import landlock
from host.sandbox.bubblewrap import Home
from host.sandbox.detect import randomizes_pids
from host.sandbox.launch import sandboxed
from host.sandbox.levels import Level
from host.sandbox.limits import MAX_WALL_FACTOR
from host.submissions.build import build
from protocols import PROTOCOLS
from protocols.wire import Fault, FaultKind, Move

OVERSHOOT = 3.0  # seconds between a limit and the verdict, at most, even on a loaded machine
GALLERY = ROGUES / "gallery.toml"


def named(rogues: list[Rogue]) -> list[Any]:
    """Return rogues as parameters. The default suite has one of each verdict."""
    quick = {rogue.verdict: rogue.name for rogue in reversed(rogues) if not rogue.long}
    return [
        pytest.param(rogue, id=rogue.name)
        if rogue.name == quick.get(rogue.verdict)
        else pytest.param(rogue, id=rogue.name, marks=pytest.mark.long)
        for rogue in rogues
    ]


ROGUES_BY_NAME = gallery(level())
PLAYERS = [rogue for rogue in ROGUES_BY_NAME.values() if "refused" not in rogue.verdict]
BUILDERS = [rogue for rogue in ROGUES_BY_NAME.values() if "refused" in rogue.verdict]
WEAKER = [at for at in levels() if at != level()]
BUILD_TIMEOUT_S = {"builds_for_ever": 5.0}
"""Shorter limits for whole builds, by rogue: croupier's own limit is four minutes."""

# Honest bots as opponents.

QUICK = '#include <stdio.h>\n\nint main(void)\n{\n    puts("S");\n    return 0;\n}\n'
SLOW = 'import time\n\ntime.sleep(0.1)\nprint("S")\n'
BESIDE_A_SLOW_BOT = {"hasty"}  # it writes its second answer while the other bot thinks
STANDS = "import sys\n\nfor question in sys.stdin:\n    print('S', flush=True)\n"
FOLDS = "import sys\n\nfor question in sys.stdin:\n    print(0)\n"


PASSES = {"cardshark": "'S'", "pazaak": "'STAND'", "holdem": "0", "hearts": "'LOW'", "briscola": "'LOW'"}
"""A legal answer to every question of a game."""


@cache
def control(kind: str, name: str = "control") -> BuiltBot:
    """Return an honest bot."""
    folder = CACHE / "controls"
    folder.mkdir(exist_ok=True)
    if kind == "holdem":
        return built(written(FOLDS, ".py", folder, name), "holdem", protocol="lines")
    if kind == "several":
        return built(written(STANDS, ".py", folder, name), protocol="lines", parallel_tables=64)
    source = written(SLOW, ".py", folder, "slow") if kind == "slow" else written(QUICK, ".c", folder, "quick")
    return built(source, name=name)


def company(rogue: Rogue, bot: BuiltBot) -> list[BuiltBot]:
    """Return the bots at a rogue's table, the rogue first."""
    if rogue.game == "holdem":
        return [*rogue.seated(bot), control("holdem", "control"), control("holdem", "another")]
    return [*rogue.seated(bot), control("slow" if rogue.name in BESIDE_A_SLOW_BOT else "quick")]


def played_and_left(game: str, bots: list[BuiltBot], tables: int) -> tuple[Record, list[int]]:
    """Play; return the record and the sandboxed processes that are still alive when the pool of bots is closed."""
    rules: dict[str, Any] = {"cardshark": {"hands": 1}, "holdem": {"rounds": 2}, "hearts": {"most_hands": 1}}.get(
        game, {}
    )

    async def work() -> tuple[Record, set[str]]:
        async with opened(game, bots) as pool:
            record = await pool.play(Job(fixture_of(game, bots, tables, **rules)))
            return record, worlds()

    record, seen = trio.run(work)
    return record, inhabitants(seen)


@pytest.mark.parametrize("rogue", named(PLAYERS))
@pytest.mark.one_in(2)
def test_a_rogue_gets_its_verdict_and_leaves_nothing(rogue: Rogue) -> None:
    plays(rogue)


@pytest.mark.parametrize("name", ["wants_another_deal", "lists_hands"])
def test_a_line_too_many_gains_no_second_deal(name: str) -> None:
    rogue, tables = ROGUES_BY_NAME[name], 16
    bot = built(rogue.file, protocol=rogue.protocol).with_keys(parallel_tables=rogue.parallel_tables)
    other = control("several", "other")

    record, _ = played_and_left("cardshark", [bot, other], tables)

    answers = [answer for table in answers_of(record) for answer in table]
    faults = [answer.kind for answer in answers if isinstance(answer, Fault)]
    assert record.replayed == 0
    assert set(faults) & {*rogue.verdict} and set(faults) <= {*rogue.verdict}
    assert sum(faults_of(record, name).values()) == len(faults)
    assert record.usage[name].starts >= len(faults)
    stderr = b"".join(piece for _, piece in dict(record.said)[name])
    # A second attempt would be played one table at a time.
    assert max(map(int, re.findall(rb"(\d+) at once", stderr))) > 1
    assert faults_of(record, "other") == {}


@pytest.mark.parametrize("rogue", named(BUILDERS))
@pytest.mark.one_in(3)
def test_a_hostile_build_is_refused_in_few_harmless_words(rogue: Rogue) -> None:
    is_refused(rogue)


@pytest.mark.long
@pytest.mark.parametrize("name", ROGUES_BY_NAME)
@pytest.mark.parametrize("at", WEAKER)
@pytest.mark.one_in(20)
def test_a_rogue_gets_its_verdict_at_every_other_level(at: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROUPIER_TEST_LEVEL", at)
    rogue = gallery(at)[name]

    (is_refused if "refused" in rogue.verdict else plays)(rogue)


@pytest.mark.long
@pytest.mark.parametrize("rogue", [rogue for rogue in named(PLAYERS) if rogue.values[0].file.suffix == ".py"])
def test_a_python_rogue_gets_its_verdict_when_it_is_forked_from_a_warm_interpreter(rogue: Rogue) -> None:
    if rogue.protocol not in ("", "argv") or not level().traits.can_warm or landlock.version() < landlock.WANTED:
        pytest.skip("always cold")
    plays(rogue, warm=True)


def plays(rogue: Rogue, **changes: Any) -> None:
    """Play a rogue with an honest bot; check that it gets its verdict in time and leaves nothing behind."""
    if rogue.needs_numbers and not randomizes_pids(level()):
        pytest.skip("PROCESS NUMBERS ARE COUNTED ON HERE")
    computed = time.process_time()
    with rogue.submitted() as submission:
        bot = trio.run(build, submission.with_keys(**changes), level())
    assert time.process_time() - computed < HOST_CPU_S
    assert bot.warm or not changes
    bots = company(rogue, bot)

    with nothing_left_behind():
        record, survivors = played_and_left(rogue.game, bots, rogue.tables)

    faults = {name: faults_of(record, name) for name in (rogue.name, "twin")}
    pieces = [piece for piece in record.evidence if piece.bot == rogue.name]
    told = faults, [(piece.kind, piece.raw, piece.stderr[-300:], piece.ended) for piece in pieces[:3]]
    assert not survivors
    assert record.replayed == len(record.stalls)  # no keeper has died; the machine may have been busy
    assert record.usage["control"].questions and not faults_of(record, "control"), record.evidence
    assert BROKEN_OUT not in [answer for table in answers_of(record) for answer in table], told
    committed = set(faults[rogue.name])
    if "harmless" in rogue.verdict and not committed:
        return
    assert committed & set(rogue.verdict), told
    assert committed <= {*rogue.verdict, *rogue.also}, told
    kept = [piece for piece in pieces if piece.kind in committed]
    assert kept or committed == {"benched"}
    for piece in kept:
        assert piece.question
        assert (
            escape_control_chars((piece.raw + piece.stderr).decode(errors="replace")).replace("\n", " ").isprintable()
        )
        assert len(piece.raw) <= 2048 and len(piece.stderr) <= 2048
        if piece.kind == FaultKind.TIMEOUT:
            granted = MAX_WALL_FACTOR * (rogue.limits.move + (rogue.limits.startup if rogue.protocol else 0))
            assert piece.wall + piece.overhead <= granted + OVERSHOOT
        if piece.kind == FaultKind.CPU:
            assert piece.cpu <= rogue.limits.cpu + OVERSHOOT
        assert piece.wall < AMPLE.move


def is_refused(rogue: Rogue) -> None:
    """Build a rogue; check that it is refused in a few harmless words and leaves nothing behind."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CROUPIER_CACHE", str(CACHE / "rogues"))  # other test processes build, too
        trio.run(build, spec_of(ROGUES / "crashes.c"), level())  # so that the cache's folders exist
        if rogue.name in BUILD_TIMEOUT_S:
            patch.setattr("host.submissions.build.BUILD_TIMEOUT_S", BUILD_TIMEOUT_S[rogue.name])
        with nothing_left_behind(), pytest.raises(UserError) as refused, rogue.submitted() as submission:
            trio.run(lambda: build(submission, level(), force=True))

    (problem,) = refused.value.problems
    words = str(problem)
    assert (refused.value.exit_code, problem.code) in ((4, "B010"), (4, "B016"), (6, "S001"))
    assert len(words.splitlines()) < 40 and len(words) < 12_000
    assert words.replace("\n", " ").isprintable()
    assert "root:" not in words
    assert not list((CACHE / "rogues" / "bots").glob("making-*"))
    assert rogue.name not in BUILD_TIMEOUT_S or "all commands together took longer than 5 s" in words


DOZEN = {
    "sleeps": {"timeout"},
    "computes": {"cpu"},
    "hoards": {"memory"},
    "floods": {"flood", "extra", "early"},
    "crashes": {"crash"},
    "leaves": {"exit"},
    "half_a_program": {"start"},
    "fork_bomb": {"timeout", "cpu"},
    "stops_itself": {"timeout"},
    "hides_behind_vfork": {"timeout"},
    "recurses": {"crash"},
    "becomes_itself": {"cpu", "timeout"},
}
"""Rogues that act the same in every game and protocol, because none of them answers."""


LONG_TABLES = ("hearts", "briscola")
"""Games whose shortest table asks each bot 14 or 20 questions, most of which a rogue answers by breaking its limit: they are
played at one level, one table long, because after 20 faults a bot would be benched, and with shorter limits."""
SHORT_S = 0.06  # seconds of these limits


def dozens() -> Iterator[Any]:
    """Yield levels, games, protocols and rogues.

    CI plays every rogue in every game, every rogue over every protocol, and every game over every protocol, the levels by
    turns. A proof plays all of it together.
    """
    for (x, game), (y, protocol) in product(enumerate(GAMES), enumerate(PROTOCOLS)):
        here = [at for at in levels() if at == level() or game not in LONG_TABLES]
        some = [name for z, name in enumerate(DOZEN) if (y + z) % len(GAMES) == x]
        yield pytest.param(here[(x + y) % len(here)], game, protocol, some, marks=pytest.mark.long)
        for at in here:
            yield pytest.param(at, game, protocol, [*DOZEN], marks=pytest.mark.proof)


@pytest.mark.parametrize(("at", "game", "protocol", "names"), [*dozens()])
@pytest.mark.one_in(4)
def test_a_dozen_rogues_get_their_verdicts_in_every_game_over_every_protocol_at_every_level(
    at: str, game: str, protocol: str, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROUPIER_TEST_LEVEL", at)
    (CACHE / "controls").mkdir(exist_ok=True)
    honest = [
        built(
            written(f"import os\nprint({PASSES[game]})\n", ".py", CACHE / "controls", f"passes_{game}"),
            game,
            protocol="argv",
        )
    ]
    honest += [honest[0].with_keys(name=f"another{nth}") for nth in range(GAMES[game].seats[0] - 2)]
    for name in names:
        rogue = ROGUES_BY_NAME[name]
        limits = rogue.limits._replace(startup=0.0)
        if game in LONG_TABLES:
            short = {key: SHORT_S for key in ("move", "cpu") if getattr(limits, key) < getattr(AMPLE, key)}
            limits = limits._replace(**short)
        bot = built(rogue.file, game, limits, name=name, protocol=protocol)
        with nothing_left_behind():
            record, survivors = played_and_left(game, [bot, *honest], 1 if game in LONG_TABLES else 2)
        assert not survivors
        assert faults_of(record, name), name
        assert set(faults_of(record, name)) <= DOZEN[name], (name, faults_of(record, name))
        assert not any(faults_of(record, bot.name) for bot in honest)


def test_every_fault_has_a_rogue() -> None:
    assert {kind.value for kind in FaultKind} <= {kind for rogue in PLAYERS for kind in rogue.verdict}


def test_every_rogue_is_in_the_gallery_and_says_what_becomes_of_it() -> None:
    hanging = {rogue.file.name: rogue for rogue in ROGUES_BY_NAME.values()}
    for path in ROGUES.iterdir():
        if path == GALLERY or path.name == "README.md":
            continue
        rogue = hanging.pop(path.name)
        files = [path] if path.is_file() else [file for file in path.iterdir() if file.name != "bot.toml"]
        heads = " ".join(" ".join(file.read_text().splitlines()[:4]) for file in files)
        assert "Verdict: " in heads, path
        assert any(kind in heads.partition("Verdict: ")[2] for kind in rogue.verdict), path
    assert not hanging


def test_a_build_leaves_regular_files_only() -> None:
    bot = built(ROGUES / "leaves_links")

    assert not stray_files(Path(bot.folder))


def test_a_folder_in_the_place_of_a_state_file_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    written("print('S')\n", ".py", tmp_path)
    (tmp_path / "bot.toml").write_text(
        'name = "b"\ngame = "cardshark"\nlanguage = "python"\nentry = "bot.py"\nstate = "memory"\nbuild = ["mkdir memory"]\n'
    )

    with pytest.raises(UserError, match="its build makes it a folder"):
        built(tmp_path)

    manifest = tmp_path / "bot.toml"
    manifest.write_text(
        manifest.read_text().replace('"memory"', '"memory/"').replace('memory"]', 'memory; touch memory/x"]')
    )
    with pytest.raises(UserError, match="its build puts files there"):
        built(tmp_path)


@pytest.mark.parametrize("occupied", ["memory", "memory/x"])
def test_what_is_handed_in_in_the_place_of_a_state_folder_is_refused_with_a_cure(occupied: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    written("print('S')\n", ".py", tmp_path)
    (tmp_path / "bot.toml").write_text('name = "b"\nlanguage = "python"\nstate = "memory/"\n')
    (tmp_path / occupied).parent.mkdir(exist_ok=True)
    (tmp_path / occupied).touch()

    with pytest.raises(UserError) as refused:
        built(tmp_path)

    assert (refused.value.exit_code, str(refused.value)) == (4, (
        "error[B016] b: memory/: must be empty at first, but the submission or its build puts files there\n"
        "  hint: give `state` in its bot.toml a name that nothing else has"
    ))  # fmt: skip


@pytest.mark.skipif(not level().traits.own_namespaces, reason="NO NAMESPACES HERE: no bot keeps a folder")
def test_what_a_rogue_leaves_in_its_folder_is_gone_in_its_next_fixture() -> None:
    bot = built(ROGUES / "fills_its_folder")

    async def work() -> list[Record]:
        async with opened("cardshark", [bot]) as pool:
            jobs = [Job(fixture_of("cardshark", [bot], 2, f"test/{number}", hands=1)) for number in range(3)]
            return [await pool.play(job) for job in jobs]

    records = trio.run(work)

    assert [answers_of(record) for record in records] == [[[Move("S")], [Move("S")]]] * 3


@pytest.mark.parametrize("weak", [Level.NONE, Level.L2])
@pytest.mark.parametrize(
    ("keys", "needs", "cure"),
    [
        ({"state": "memory/"}, 'state = "memory/"', 'state = "memory.bin"'),
        ({"state": "m", "state_absent": True}, "state_absent = true", "state_absent = false"),
    ],
)
def test_a_level_without_folders_of_its_own_refuses_a_bot_that_keeps_one(
    keys: dict[str, Any], needs: str, cure: str, weak: Level, tmp_path: Path
) -> None:
    submission = spec_of(written("print('S')\n", ".py", tmp_path), "cardshark", **keys)

    with pytest.raises(UserError) as refused:
        trio.run(build, submission, weak)

    assert (refused.value.exit_code, str(refused.value)) == (6, (
        f"error[S001] bot: {needs} needs a sandbox of level L3 or L4; the level is {weak}\n"
        f'  hint: level = "L3" under [sandbox] in croupier.toml, without --unsafe; or  {cure}  in its bot.toml'
    ))  # fmt: skip


def test_four_rogues_at_one_table_do_not_disturb_an_honest_bot_at_theirs() -> None:
    names = ("floods", "hydra", "fork_bomb", "signals_everybody")
    rogues = [ROGUES_BY_NAME[name] for name in names]
    bots = [built(rogue.file, "cardshark", rogue.limits, **rogue.spec_changes()) for rogue in rogues]

    with nothing_left_behind():
        record, survivors = played_and_left("cardshark", [*bots, control("quick")], 2)

    assert not survivors
    assert not faults_of(record, "control")


@pytest.mark.proof
def test_no_head_of_the_hydra_survives_a_thousand_decisions() -> None:
    folder = built(ROGUES / "hydra.c").folder

    async def work() -> None:
        async with sandboxed(level(), Home(Path(folder)), AMPLE) as sandbox:
            for _ in range(1000):
                await sandbox.keeper.ask([b"./bot", b"21"], {}, AMPLE, 1.0)
                await sandbox.keeper.reap()  # on a busy machine a killed process may wait for a core before it ends
                (world,) = worlds()
                living = inhabitants({world})
                assert len(living) == 1, [psutil.Process(pid) for pid in living]  # the keeper

    trio.run(work)
