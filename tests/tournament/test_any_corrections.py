"""Whatever an organiser corrects, in whatever order, `verify` and check.py confirm the result, and no command fails."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from command import croupier, croupier_process
from failing_games import FAILS, ORDINARY, bot, set_mode, tournament

from host.journal.reader import journal_exists, reading

NAMES = ("ada", "bob", "cyd", "dan", "eve", "fay", "gus", "hal")
KINDS = {
    "round-robin": ["tables_per_pair = 4", "fixture_tables = {small}"],
    "knockout": ["set = 2", "first_to = {few}", 'elimination = "{elimination}"', 'places = "{places}"'],
    "groups": ["until = {several}", "repeat = {few}"],
    "league": ["tables = 4"],
    "gauntlet": ['references = ["ada", "bob"]', "tables = 2"],
    "swiss": ["rounds = {several}", "tables_per_pairing = {few}"],
    "pairs": ['meetings = ["5 ada / bob", "3 cyd / dan", "4 dan / ada"]'],
}
BECAUSE = ("--reason", "because")


class Organiser:
    """An organiser who runs and corrects a tournament at random. A bot makes the game fail, for a while or always."""

    def __init__(self, place: Path, luck: Random) -> None:
        self.place, self.luck = place, luck
        self.bots, self.stages = [*NAMES[: luck.randint(4, 7)]], luck.choices([*KINDS], k=luck.randint(1, 3))
        text = "".join(self._stage(f"{kind}{number}", kind) for number, kind in enumerate(self.stages))
        early = "[run]\nstop_early = true\n" if luck.random() < 0.2 else ""
        crashing, often = luck.choice(self.bots), luck.choice([1, 2, 5, 17])
        self.cup = tournament(place / "cup", "GAME", text + early, bots=self.bots, crashing=crashing, often=often)

    def _stage(self, name: str, kind: str) -> str:
        chosen = {"few": [1, 2], "several": [2, 3], "small": [1, 50]}
        chosen |= {"elimination": ["single", "double"], "places": ["first", "all"]}  # type: ignore[dict-item]
        keys = "\n".join(KINDS[kind]).format(**{key: self.luck.choice(some) for key, some in chosen.items()})
        least = "" if kind == "pairs" else "min_bots = 2\n"
        mirror = "mirror = true\n" if kind in ("round-robin", "swiss") and self.luck.random() < 0.2 else ""
        return f'\n[[stage]]\nname = "{name}"\nkind = "{kind}"\n{least}{mirror}{keys}\npractice = true\n'

    def does(self, *words: object, codes: tuple[int, ...] = (0, 3)) -> int:
        """Run a command, which may be refused. Return its exit code."""
        done = croupier("-C", self.cup, *words)
        assert done.code in codes and "H001" not in done.err, (words, done.code, done.err)
        return done.code

    def run(self) -> int:
        """Play what is left. A game that fails leaves fixtures undecided (exit code 7)."""
        return self.does("run", "--progress", "none", *BECAUSE, codes=(0, 2, 3, 7))

    def corrects(self) -> None:
        """Do anything at random."""
        match self.luck.choice(["run", "first stage", "withdraw", "undo", "redo", "late", "replace", "more", "mode"]):
            case "run":
                assert self.run() in (0, 7)
            case "first stage":
                self.does("run", "--progress", "none", "--stage", f"{self.stages[0]}0", codes=(0, 3, 7))
            case "withdraw":
                self.does("withdraw", self.luck.choice(self.bots), *BECAUSE, codes=(0, 2, 3))
            case "undo":
                self.does("withdraw", "--undo", self.luck.choice(self.bots), *BECAUSE, codes=(0, 2, 3))
            case "redo":
                with reading(self.cup / "run" / "run.sqlite") as journal:
                    paths = [*journal.paths(), *(each.path for each in journal.undecided())]
                path = self.luck.choice(paths)
                self.does("redo", self.luck.choice([path, path.rpartition("/")[0]]), *BECAUSE)
            case "late" if len(self.bots) < len(NAMES):
                name = NAMES[len(self.bots)]
                if self._added(name, ORDINARY) == 0:
                    self.bots.append(name)
            case "replace":
                name = self.luck.choice(self.bots)
                self._added(
                    name, self.luck.choice([f"1 + {ORDINARY}", FAILS.format(often=3)]), "--replace", name, *BECAUSE
                )
            case "more":
                config = self.cup / "croupier.toml"
                before = config.read_text()
                more = re.compile(r"^(tables|tables_per_pair) = (\d+)$", re.MULTILINE)
                config.write_text(more.sub(lambda key: f"{key[1]} = {int(key[2]) + 2}", before))
                if self.run() in (2, 3):  # a stage under way, or one that has decided who plays the next
                    config.write_text(before)
            case _:
                set_mode(self.cup, self.luck.choice(["never", "always"]))

    def _added(self, name: str, number: str, *words: str) -> int:
        shutil.rmtree(self.place / "new", ignore_errors=True)
        bot(self.place / "new", name, number)
        return self.does("add", self.place / "new" / "bots" / name, *words, codes=(0, 2, 3))

    def confirmed(self) -> None:
        """Let `verify`, and an outsider with check.py, confirm what has been played."""
        mode = (self.cup / "mode").read_text()
        set_mode(self.cup, "never")  # `verify` plays with the same rules, which may not fail now
        verified = croupier_process("-C", self.cup, "verify")
        assert verified.code == 0, verified.out + verified.err
        public = self.place / "public"
        self.does("export", "public", public, codes=(0,))
        command = [sys.executable, "-I", "-S", public / "check.py"]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        shutil.rmtree(public)
        set_mode(self.cup, mode)


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_corrected_the_results_follow_from_the_records(seed: int, tmp_path: Path) -> None:
    organiser = Organiser(tmp_path, Random(seed))
    set_mode(organiser.cup, organiser.luck.choice(["never", "always"]))
    organiser.run()
    assert journal_exists(organiser.cup / "run" / "run.sqlite")
    for _ in range(8):
        organiser.corrects()
        organiser.confirmed()
    for words in (("run", "--dry-run"), ("standings",), ("status",), ("faults",), ("report",)):
        organiser.does(*words)
