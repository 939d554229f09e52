"""Create journals with games played by small functions in this process: real tables and records, without bots."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from host.bots.values import WALLS, Evidence, Timing, Usage
from host.games import GAMES
from host.games.engine import Table
from host.journal.check import wal_files
from host.journal.state import RecordedBot, RunState, RunStatus, StageState, StageStatus, Terms
from host.journal.tournament_dir import commitment
from host.journal.writer import writing
from host.play.records import Fixture, Record, Result, pack
from host.play.results import seats_of
from host.play.table_plans import PLANS, TableSetup
from host.sandbox.levels import Level
from host.stages import kind_of, stage_from_json
from host.stages.kind import Field
from protocols.wire import Answer, Fault, FaultKind, Move
from tests.stage_configs import stage_of

SEED = bytes(range(16))
EVIL = '<script>window.evil=1;alert("x")<'
ANSI = b"\x1b[31mred\x1b[0m\x07 </script><script>window.evil=2</script>\n<img src=x onerror=window.evil=3>"


def cardshark(view: Any, luck: Random) -> Answer:
    """Hit below 17; sometimes bet everything, or double."""
    if view.stake == 10 and view.chips and luck.random() < 0.1:
        return Move("B", view.chips)
    return Move("H" if view.score < 17 else "S")


def pazaak(view: Any, luck: Random) -> Answer:
    """Stand from 16, play a side card that makes 20."""
    total = sum(view.your_hand)
    if 20 - total in view.your_side_deck:
        return Move("PLAY", 20 - total)
    return Move("STAND" if total >= 16 or luck.random() < 0.1 else "END")


def holdem(view: Any, luck: Random) -> Answer:
    """Call, raise, fold and go all in at random."""
    chance = luck.random()
    if chance < 0.12:
        return Move("BET", 0)
    if chance < 0.3:
        return Move("BET", min(view.max_bet_amt, view.min_bet_amt + 5))
    return Move("BET", view.max_bet_amt if chance > 0.985 else view.min_bet_amt)


def patient(view: Any, _luck: Random) -> Answer:
    """Always call, which makes the longest possible game of hold'em."""
    return Move("BET", view.min_bet_amt)


PLAYERS: dict[str, Callable[[Any, Random], Answer]] = {"cardshark": cardshark, "pazaak": pazaak, "holdem": holdem}


def recorded(fixture: Fixture, player: Callable[[Any, Random], Answer] | None = None, seed: bytes = SEED) -> Record:
    """Play a fixture. The bot EVIL fails at every 25th question, with escape codes in its standard error."""
    game, chosen = GAMES[fixture.game], player or PLAYERS[fixture.game]
    plan = PLANS[fixture.plan](fixture, seed)
    results: dict[str, Result] = {}
    faults: dict[str, dict[str, int]] = {}
    evidence, scores, answers, times, setups = [], [], [], [], list[TableSetup]()
    asked = dict.fromkeys(fixture.bots, 0)
    now: Sequence[TableSetup] | None = next(plan, None)
    while now is not None:
        these = []
        setups += now
        for sitting in now:
            pace = Random(f"{sitting.path} pace")
            table, luck = Table(game, sitting.rules, sitting.shuffler(seed)), Random(sitting.path)
            while table.request:
                bot = sitting.bots[table.request.seat]
                asked[bot] += 1
                answer = chosen(table.request.view, luck)
                kind = "slowest" if asked[bot] == 7 else ""
                if bot == EVIL and asked[bot] % 25 == 3:
                    answer, kind = Fault(FaultKind.CRASH, "signal 11"), "crash"
                    faults.setdefault(bot, {}).setdefault("crash", 0)
                    faults[bot]["crash"] += 1
                if (number := len(scores) + len(these) + 1) <= 8:
                    wall = round(pace.lognormvariate(7, 1))
                    times.append(Timing(number, len(table.answers) + 1, wall, round(wall * pace.random())))
                if kind:
                    question = f"question {asked[bot]} of {fixture.path}".encode()
                    piece = (bot, len(scores) + len(these) + 1, len(table.answers) + 1, kind, "signal 11", question)
                    evidence.append(Evidence(*piece, b"<b>H", ANSI, 0.0123, 0.0045, "killed by signal 11"))
                table.answer(answer)
            assert table.scores is not None
            won = game.winners(table.scores) if game.winners else ()
            for seat, bot in enumerate(sitting.bots):
                score, was = table.scores[seat], results.get(bot, Result(0, 0, 0, 10**9, -(10**9), 0))
                low, high = min(was.low, score), max(was.high, score)
                results[bot] = Result(was.tables + 1, was.wins + (seat in won), was.score + score, low, high, score)
            these.append(table.scores)
            answers.append(table.answers)
        scores += these
        try:
            now = plan.send(these)
        except StopIteration:
            now = None
    walls = {
        bot: tuple(count - count // 9 if at == 12 else count // 9 * (at == 14) for at in range(WALLS))
        for bot, count in asked.items()
    }
    usage = {bot: Usage(n, n * 0.003, 0.0123, n * 0.001, 9 << 20, 3, walls[bot]) for bot, n in asked.items() if n}
    return Record(
        path=fixture.path,
        results=results,
        faults=faults,
        usage=usage,
        evidence=tuple(evidence),
        scores=tuple(scores),
        answers=pack(answers),
        times=tuple(times),
        seats=seats_of(fixture, setups),
    )


def fixtures(game: str, stage: str, bots: tuple[str, ...], count: int, **rules: Any) -> list[Fixture]:
    """Return fixtures: tourneys of cardshark, pairs of pazaak, blocks of hold'em."""
    chosen = GAMES[game].default_rules._replace(**rules)
    blank = Fixture(game, chosen, "independent", "", bots, count)
    if game == "cardshark":
        return [blank._replace(plan="tourney", tables=2, path=f"{stage}/{number}") for number in range(1, count + 1)]
    if game == "pazaak":
        pairs = [(one, two) for at, one in enumerate(bots) for two in bots[at + 1 :]]
        return [blank._replace(bots=pair, path=f"{stage}/{'+'.join(sorted(pair))}/1") for pair in pairs]
    group = f"{stage}/{'+'.join(sorted(bots))}"
    return [blank._replace(tables=1, path=f"{group}/{number}", first=number) for number in range(1, count + 1)]


KINDS = {"cardshark": "mixed-tables", "pazaak": "round-robin", "holdem": "independent"}


def begin(path: Path, game: str, bots: tuple[str, ...], state: str = "finished", seed: bytes = SEED) -> None:
    """Start a journal with the run's metadata and its bots."""
    stage = {"name": "league", "kind": KINDS[game], "rank_by": ["win_rate", "total_score"] if game == "pazaak" else []}
    with writing(path) as journal:
        run = RunState(
            game=game,
            name=f"A {game} cup",
            level=Level.L3,
            status=RunStatus(state),
            version="0.1.0",
            seed_sha256=commitment(seed),
            began=1700000000.0,
            terms=Terms(limits={"move": "1 s"}),
            stages=[StageState(stage_from_json(stage), StageStatus(state))],
        )
        journal.set_state(run)
        for bot in bots:
            author = 'Zoë "><img src=x onerror=window.evil=4>'
            journal.add_bot(RecordedBot(bot, "ab" * 32, "c", author, "lines"))
    (path.parent / "seed").write_text(seed.hex() + "\n")


def add(path: Path, some: Iterable[Fixture], player: Callable[[Any, Random], Answer] | None = None) -> None:
    """Play fixtures and store their records."""
    with writing(path) as journal:
        for fixture in some:
            journal.add("league", recorded(fixture, player), fixture)


def finish(path: Path) -> None:
    """Mark a run as finished."""
    with writing(path) as journal:
        journal.set_stage("league", StageStatus.FINISHED)
        journal.set_status(RunStatus.FINISHED)


BOTS = {
    "cardshark": (EVIL, "kelly", "davey", "lim17", "basic"),
    "pazaak": (EVIL, "nestor", "neptr", "glaucus"),
    "holdem": (EVIL, "odds", "tight", "careful", "ehs"),
}


def played(folder: Path, game: str, count: int = 3, state: str = "finished", **rules: Any) -> Path:
    """Return the journal of a complete small run of a game, in a folder."""
    path = folder / "run" / "run.sqlite"
    begin(path, game, BOTS[game], state)
    add(path, fixtures(game, "league", BOTS[game], count, **rules))
    return path


def mirrored(folder: Path, *, said: bool = True) -> Path:
    """Return the journal of a running league of pazaak whose tables share deals, as its stage says or not."""
    path = folder / "run" / "run.sqlite"
    begin(path, "pazaak", BOTS["pazaak"], "running")
    add(path, (each._replace(plan="mirrored") for each in fixtures("pazaak", "league", BOTS["pazaak"], 4)))
    with writing(path) as journal:
        stage = {"name": "league", "kind": "round-robin", "rank_by": ["win_rate", "total_score"], "mirror": said}
        journal.set_state(journal.state().with_stages(stage_from_json(stage)))
    return path


SPOILING = {
    "newer": "PRAGMA user_version = 99",
    "foreign": "PRAGMA application_id = 7",
    "crafted": """UPDATE stage SET config = '{"kind": "round-robin"}'""",
}


def spoilt(path: Path, how: str) -> None:
    """Damage a journal: mark it as newer, truncate or delete it, or replace it with another or a crafted file."""
    for log in wal_files(path):
        log.unlink(missing_ok=True)
    if how == "deleted":
        path.unlink()
        return
    if how == "garbage":
        path.write_bytes(b"<script>alert(1)</script>" * 400)
        return
    if how == "torn":
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        return
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(SPOILING[how])
        database.commit()


# Tournaments of several stages.

GROUPS = (
    {"kind": "groups", "name": "groups", "advance": 2, "until": 5, "repeat": 1, "rank_by": ["advances", "score"]},
    {"kind": "groups", "name": "final", "advance": 1, "until": 1, "repeat": 1, "rank_by": ["advances", "score"]},
)
ENTRANTS = (*BOTS["holdem"], "wild", "loose", "ehs_cpp")
BRACKET = (
    {
        "kind": "knockout",
        "name": "cup",
        "set": 6,
        "first_to": 2,
        "rank_by": ["win_rate", "total_score"],
        "mirror": False,
    },
)
TEN = ("austin", "bastila", "kid", "bold", "cautious", "glaucus", "hk", "neptr", "nestor", "optimum")
SWISS = ({"kind": "swiss", "name": "swiss", "tables_per_pairing": 20, "rank_by": ["elo", "sets", "buchholz"]},)
DOUBLE = ({**BRACKET[0], "elimination": "double"},)


class Cup:
    """A tournament of several stages, played step by step like `croupier run`, with a journal."""

    def __init__(
        self,
        folder: Path,
        game: str = "holdem",
        stages: Sequence[Mapping[str, Any]] = GROUPS,
        bots: Sequence[str] = ENTRANTS,
        **rules: Any,
    ) -> None:
        self.path = folder / "run" / "run.sqlite"
        self._game, self._stages = game, stages
        self._rules = GAMES[game].default_rules._replace(**rules)
        self._order: list[str] = list(bots)
        begin(self.path, game, tuple(bots), "running")
        with writing(self.path) as journal:
            state = replace(
                journal.state(), stages=(), terms=Terms(rules=self._rules._asdict(), limits={"move": "1 s"})
            )
            journal.set_state(state.with_stages(*map(stage_from_json, stages)))

    def play(self, name: str, times: int | None = None) -> None:
        """Play a stage to its end, or for a number of steps."""
        stage = stage_of(**next(each for each in self._stages if each["name"] == name))
        kind, field, records = kind_of(stage), Field(self._order, SEED), dict[str, Record]()
        blank = Fixture(self._game, self._rules, "", "", (), 0)
        with writing(self.path) as journal:
            journal.set_stage(name, StageStatus.RUNNING, field=self._order)
            while some := kind.due(stage, blank, field, records):
                if times == 0:
                    return
                times = None if times is None else times - 1
                for fixture in some:
                    records[fixture.path] = recorded(fixture)
                    journal.add(name, records[fixture.path], fixture)
            order = kind.places(stage, field, records) if kind.places else None
            journal.set_stage(name, StageStatus.FINISHED, places=order)
            self._order = kind.left(stage, field, records) if kind.left else order or self._order

    def finish(self) -> None:
        """Mark the tournament as finished."""
        with writing(self.path) as journal:
            journal.set_status(RunStatus.FINISHED)


def grouped(folder: Path, **rules: Any) -> Path:
    """Return the journal of a complete tournament of groups, in a folder."""
    cup = Cup(folder, **rules)
    for stage in GROUPS:
        cup.play(str(stage["name"]))
    cup.finish()
    return cup.path


def bracketed(folder: Path) -> Path:
    """Return the journal of a complete knockout of five bots, in a folder."""
    cup = Cup(folder, "pazaak", BRACKET, (*BOTS["pazaak"], "optimum"))
    cup.play("cup")
    cup.finish()
    return cup.path
