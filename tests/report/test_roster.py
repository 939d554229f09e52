"""Rosters: how they are written, and which bot belongs to which student."""

from pathlib import Path

import pytest
from command import croupier, cup_in
from stage_configs import PAZAAK_BOT

from host.base.errors import UserError
from host.base.sheet import MAX_SHEET_BYTES
from host.inspect.roster import Entrant, match, read_roster, roster_name
from host.submissions.intake_log import INTAKE_LOG

ADA, BOB = Entrant("ada", "Ada Lovelace", "inbox/ada.zip"), Entrant("bob", "", "inbox/bob.py")


def written(place: Path, text: str, encoding: str = "utf-8") -> Path:
    """Write a roster; return its path."""
    path = place / "students.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "encoding", "delimiter", "marked"),
    [
        ("Name,ID\nZoë Müller,7\n", "utf-8", ",", False),
        ("Name;ID\r\nZoë Müller;7\r\n", "utf-8-sig", ";", True),
        ("Name\tID\nZoë Müller\t7\n", "utf-16", "\t", True),
        ("Name;ID\nZoë Müller;7\n", "cp1252", ";", False),
        ("sep=;\nName;ID\nZoë Müller;7\n\n", "utf-8-sig", ";", True),
        ("sep=\t\r\nName\tID\r\nZoë Müller\t7\r\n", "utf-8", "\t", False),
        ('"Name","ID"\n"Zoë Müller","7"\n', "utf-8", ",", False),
    ],
)
def test_a_roster_is_read_as_platforms_and_spreadsheets_write_it(
    text: str, encoding: str, delimiter: str, marked: bool, tmp_path: Path
) -> None:
    roster = read_roster(written(tmp_path, text, encoding))
    assert (roster.columns, list(roster.rows)) == (["Name", "ID"], [{"Name": "Zoë Müller", "ID": "7"}])
    assert (roster.delimiter, roster.marked) == (delimiter, marked)


@pytest.mark.parametrize("text", ["", "\n\n", "a;b\n1;2\n", "Ada Lovelace\nBob\n"])
def test_a_roster_that_names_no_students_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="names no students"):
        read_roster(written(tmp_path, text))
    with pytest.raises(UserError, match="has titles, but no student"):
        read_roster(written(tmp_path, "Name,ID\n"))
    with pytest.raises(UserError, match="none"):
        read_roster(tmp_path / "none.csv")


def test_a_roster_that_is_too_large_is_refused_and_not_cut(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="larger than 16 MiB"):
        read_roster(written(tmp_path, "Name\n" + "Ada Lovelace\n" * (MAX_SHEET_BYTES // 12)))


@pytest.mark.parametrize(
    ("roster", "entrant"),
    [
        ("Name\nAda Lovelace", ADA),  # the author
        ('Name\n"Lovelace, Ada"', ADA),
        ("First name,Last name\nAda,Lovelace", ADA),
        ("Vorname;Nachname\nÁda;Lovelace", ADA),
        ("Full name,E-mail address\nSomebody,bob@example.edu", BOB),  # the name of the bot
        ("Username\nBOB", BOB),
        ("Student,File\nSomebody,ada.zip", ADA),
        ("Student,File name\nSomebody,bob", BOB),
        ("Student,bot\nAda Lovelace,bob", BOB),  # a column `bot` decides
        ("ID number\ns1234567", Entrant("x", "", "inbox/s1234567.java")),
        ("ID\n1234567", Entrant("x", "", "inbox/Ada Lovelace_1234567_assignsubmission_file_/bot.py")),
        ("Name\nZoë van Dyk", Entrant("y", "", "Zoe van Dyk_77_assignsubmission_file_bot.py")),
        ("Name\nDyk Zoe", Entrant("zoe_dyk", "", "")),
    ],
)
def test_a_student_is_matched_by_what_names_the_bot(roster: str, entrant: Entrant, tmp_path: Path) -> None:
    others = [each for each in (ADA, BOB) if each != entrant]
    found = match(read_roster(written(tmp_path, roster + "\n")), [*others, entrant])
    assert [student.entrant for student in found.students] == [entrant]
    assert list(found.others) == others


def test_a_short_id_is_not_searched_for_inside_names(tmp_path: Path) -> None:
    found = match(read_roster(written(tmp_path, "ID\n7\n")), [Entrant("bot_7", "", "bot_7.py")])
    assert found.students[0].entrant is None and len(found.others) == 1


def test_several_bots_of_one_student_and_several_students_of_one_bot_are_named_and_not_guessed(tmp_path: Path) -> None:
    again = Entrant("ada2", "Ada Lovelace", "inbox/ada2.zip")
    roster = read_roster(written(tmp_path, "Name,Username\nAda Lovelace,x\nBob,y\nBob Two,bob\nEve,eve\n"))
    found = match(roster, [ADA, again, BOB, Entrant("guest")])
    assert [(roster_name(student.row), student.entrant, list(student.candidates)) for student in found.students] == [
        ("Ada Lovelace", None, [ADA, again]),
        ("Bob", None, [BOB]),
        ("Bob Two", None, [BOB]),
        ("Eve", None, []),
    ]
    assert [each.bot for each in found.others] == ["guest"]


def test_what_was_refused_does_not_compete_with_what_was_accepted(tmp_path: Path) -> None:
    roster = read_roster(written(tmp_path, "Name\nAda Lovelace\nBob Noyce\n"))
    first, last = (Entrant("ada", "Ada Lovelace", f"Ada Lovelace_{at}.c", refused_at=at) for at in (1.0, 2.0))
    bob = Entrant("bob", "Bob Noyce", "bob.py", refused_at=3.0)
    found = match(roster, [last, first, ADA, bob])
    assert ([student.entrant for student in found.students], found.others) == ([ADA, bob], [])
    assert match(roster, [last, first]).students[0].entrant == last


def test_a_refused_file_that_is_called_as_the_student_does_not_beat_an_accepted_bot(tmp_path: Path) -> None:
    roster = read_roster(written(tmp_path, "Name\nAda Lovelace\n"))
    accepted = Entrant("Ada Lovelace_1234567", "", "inbox/Ada Lovelace_1234567_assignsubmission_file_")
    refused = Entrant("Ada Lovelace", "", "Ada Lovelace.zip", refused_at=1.0)
    for entrants in ([accepted, refused], [refused, accepted]):
        found = match(roster, entrants)
        assert ([student.entrant for student in found.students], found.others) == ([accepted], [])
    assert match(roster, [refused]).students[0].entrant == refused


COURSE = """\
game = "pazaak"
bots = ["bots/*"]
[[stage]]
kind = "gauntlet"
references = ["sample:neptr"]
tables = 10
[stage.grades]
"sample:neptr" = { points = 40, sure = "95 %" }
"""


@pytest.mark.long
def test_the_report_of_a_course_warns_of_a_bot_without_a_student_as_grades_does(tmp_path: Path) -> None:
    (tmp_path / "bots").mkdir()
    for name in ("ada", "bob"):
        (tmp_path / "bots" / f"{name}.py").write_text(PAZAAK_BOT.format(limit=16))
    (tmp_path / "croupier.toml").write_text(COURSE)
    assert croupier("run", "-C", tmp_path).code == 0
    roster = written(tmp_path, "Name\nAda\n")
    page, listed = (croupier(name, "--roster", roster, "-C", tmp_path) for name in ("report", "grades"))
    assert (page.code, page.err) == (0, listed.err)
    assert "WARNING  no student of the roster has handed in bob:" in page.err


@pytest.mark.long
def test_the_report_of_a_run_without_grades_refuses_a_roster_and_needs_no_log_of_an_intake(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=1)
    assert croupier("run", "-C", cup).code == 0
    (cup / "bots" / INTAKE_LOG).write_text("x{\n")
    assert croupier("report", "-C", cup).code == 0
    refused = croupier("report", "--roster", written(tmp_path, "Name\nAda\n"), "-C", cup)
    assert (refused.code, refused.first.partition("]")[0]) == (2, "error[C017")


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"ID": "7", "Name": "Ada", "Email": "ada@example.org"}, "Ada"),
        ({"Last name": "Lovelace", "ID": "7", "First name": "Ada"}, "Ada Lovelace"),
        ({"Group": "B", "Email": "ada@example.org", "ID": "7", "File": "ada.py"}, "ada@example.org"),
        ({"Group": "B"}, ""),
    ],
)
def test_a_student_is_called_by_the_name_or_by_the_first_column_that_names_him(row: dict[str, str], name: str) -> None:
    assert roster_name(row) == name
