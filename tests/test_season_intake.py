"""The intake of a season examines real bots: it builds, checks and practises, and loses nothing."""

from pathlib import Path

import pytest
from season_fixtures import BROKEN_C, C_BOT, CRASHES, JAVA_BOT, NONSENSE, STANDS, season, tar, terms_of

from host.submissions.discovery import load_submission

REFERENCE = Path(__file__).parents[1] / "sample_bots/pazaak/nestor"


@pytest.mark.parametrize(("file_name", "content"), [("mine.py", STANDS), ("mine.c", C_BOT), ("Mine.java", JAVA_BOT)])
def test_a_bot_is_built_checked_and_practises_in_every_seat(tmp_path: Path, file_name: str, content: str) -> None:
    with season(tmp_path, terms_of(references=(REFERENCE,))) as here:
        found = here.accepted("ada", file_name, content, "mine")
        verdict = found.verdict
        assert verdict is not None
        (practice,) = verdict.practice
        assert (practice.opponent, practice.tables, practice.faults) == ("nestor", 8, 0)
        assert {each.what for each in verdict.findings} >= {"builds", "starts", "limits", "practice"}
        assert found.label == "mine-1"
        assert [each.label for each in here.store.versions.playing()] == ["mine-1"]
        place = here.folder / here.store.versions.get("mine", 1).place
        assert load_submission(place).name == "mine-1"
