"""The tour of a teacher: sixty hand-ins with the usual troubles in four archives, from the roster to the grade list."""

import csv
import io
import json
import re
import zipfile
from collections import Counter
from html import unescape
from pathlib import Path

import pytest
from command import croupier
from stage_configs import PAZAAK_BOT

COURSE = """\
game = "pazaak"
name = "Course"
seed = "only the teacher knows this text"
[[stage]]
kind = "gauntlet"
references = ["sample:dumb_bold", "sample:neptr"]
tables = 40
same_cards = true
practice = true
[stage.grades]
"sample:dumb_bold" = { points = 40, sure = "90 %" }
"sample:neptr" = { points = 60, sure = "90 %", at_least = "30 %" }
[limits]
move = "300 ms"
startup = "3 s"
"""
JAVA = """\
import java.util.Scanner;
public class %s {
    public static void main(String[] arguments) {
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            int total = 0;
            for (String card : in.nextLine().split(" ")[3].split(",")) total += Integer.parseInt(card);
            System.out.println(total < %d ? "END" : "STAND");
        }
    }
}
"""
UNFLUSHED = '#include <stdio.h>\nint main(void) { char s[4096]; while (fgets(s, 4096, stdin)) printf("STAND\\n"); return %d; }\n'
ENDLESS = "import sys\nfor line in sys.stdin:\n    while True:\n        pass\n"
CRASHES = "import sys\nfor line in sys.stdin:\n    print(line.split()[99], flush=True)\n"
FIRST, LAST = ("Ada", "Bob", "Chloé", "Dan", "Eve", "Finn", "Gül", "Hal"), ("Lovelace", "Noyce", "van Dyk", "Ørsted")
STUDENTS = 60
REFUSED = {7: "B035", 8: "B015", 9: "B010", 11: "B002", 14: "B003"}


def number(nth: int) -> str:
    """Return the number of a student, from 0."""
    return f"{2026000 + nth}"


NESTED = f"s{number(13)}"  # a zip in a zip


def zipped(files: dict[str, str | bytes]) -> bytes:
    """Return a zip with these files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def hand_ins() -> dict[str, str | bytes]:
    """Return what the students hand in by the name of the file, in the order of the roster; three hand in nothing."""
    troubles: list[tuple[str, str | bytes]] = [
        *((f"s{number(nth)}.java", JAVA % (f"Player{nth}", 12 + nth)) for nth in range(4)),
        *((f"s{number(nth)}.c", UNFLUSHED % nth) for nth in (4, 5)),
        (f"s{number(6)}.py", ENDLESS),
        (f"s{number(7)}.py", CRASHES),
        (f"s{number(8)}.py", "import sys\nfor line in sys.stdin\n    print('END')\n"),  # a syntax error
        (f"s{number(9)}.c", "int main(void) { return }\n"),
        (f"s{number(10)}.py", PAZAAK_BOT.format(limit=17).replace("\n", "\r\n")),
        (f"s{number(11)}.sh", "#!/bin/sh\r\nwhile read line; do echo END; done\r\n"),
        (f"s{number(12)}.zip", zipped({f"s{number(12)}/bot/bot.py": PAZAAK_BOT.format(limit=15)})),
        (f"s{number(13)}.zip", zipped({"inner.zip": zipped({"bot.py": PAZAAK_BOT.format(limit=14)})})),
        (f"s{number(14)}.docx", b"PK\x03\x04 not a program"),
        (f"Hal Noyce_{number(15)}_assign_bot.py", PAZAAK_BOT.format(limit=18)),
        ("bot.py", PAZAAK_BOT.format(limit=13)),  # of two students: see `archives`
        (f"s{number(17)}.py", PAZAAK_BOT.format(limit=9)),  # identical to the next one
        (f"s{number(18)}.py", PAZAAK_BOT.format(limit=9)),
    ]
    plain = [(f"s{number(nth)}.py", PAZAAK_BOT.format(limit=10 + nth % 9)) for nth in range(19, STUDENTS - 3)]
    return dict([*troubles, *plain])


def archives(place: Path) -> None:
    """Write the hand-ins as four archives, one for each group, and unpack them as a teacher does."""
    files = list(hand_ins().items())
    for group in range(4):
        own = dict(files[group::4]) | ({"bot.py": PAZAAK_BOT.format(limit=11)} if group == 3 else {})
        archive = place / f"group{group}.zip"
        archive.write_bytes(zipped(own))
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(place / "inbox" / f"group{group}")


def roster(place: Path) -> Path:
    """Write the roster as a learning platform exports it for a spreadsheet; return its path."""
    lines = ["First name;Last name;ID number;E-mail address;Group"]
    for nth in range(STUDENTS):
        first = "=HYPERLINK(1)" if nth == 20 else FIRST[nth % 8]
        lines.append(f"{first};{LAST[nth // 8 % 4]};s{number(nth)};a{nth}@example.edu;{nth % 4}")
    path = place / "students.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    return path


@pytest.mark.proof
def test_sixty_hand_ins_with_the_usual_troubles_become_a_grade_list(tmp_path: Path) -> None:
    course = tmp_path / "course"
    (course / "bots").mkdir(parents=True)
    (course / "croupier.toml").write_text(COURSE)
    archives(tmp_path)
    inbox = sorted((tmp_path / "inbox").glob("*/*"))
    assert len(inbox) == STUDENTS - 2
    added = croupier("add", *inbox, "-C", course, "--csv", tmp_path / "intake.csv")
    assert added.code == 4 and "submissions added" in added.out
    assert "identical: the same files as" in added.out and "two submissions are called bot:" in added.err
    log = {Path(row["submission"]): row for row in csv.DictReader((tmp_path / "intake.csv").read_text().splitlines())}
    assert [*log] == inbox
    refused = {path.stem: row["code"] for path, row in log.items() if row["result"] == "refused"}
    refused.pop(NESTED, "")
    assert refused == {"bot": "C003"} | {f"s{number(nth)}": code for nth, code in REFUSED.items()}

    done = croupier("run", "-C", course)
    assert done.code == 0 and "  status " in done.out and "games won" not in done.out, done.out + done.err
    assert croupier("withdraw", f"s{number(19)}", "--reason", "copied", "-C", course).code == 0
    listed = croupier("grades", "--roster", roster(tmp_path), "--csv", "-C", course)
    assert listed.code == 0 and listed.out.startswith("\ufeffFirst name;Last name;ID number;")
    assert listed.err.count("WARNING") == 1 and "no student of the roster has handed in bot" in listed.err
    rows = list(csv.DictReader(io.StringIO(listed.out.removeprefix("\ufeff")), delimiter=";"))
    assert [row["ID number"] for row in rows] == [f"s{number(nth)}" for nth in range(STUDENTS)]
    statuses = {nth: row["status"] for nth, row in enumerate(rows) if row["bot"] != NESTED}
    assert {nth for nth, status in statuses.items() if status == "refused"} == {*REFUSED}
    assert [nth for nth, status in statuses.items() if status == "no submission"] == [16, 57, 58, 59]
    assert [nth for nth, status in statuses.items() if status == "never answered"] == [4, 5, 6]
    assert [nth for nth, status in statuses.items() if status == "withdrawn"] == [19]
    assert Counter(statuses.values())["graded"] == len(statuses) - len(REFUSED) - 4 - 3 - 1
    assert {nth: rows[nth]["code"] for nth in REFUSED} == REFUSED
    assert all(rows[nth]["points"] == "0.00" and rows[nth]["why"] for nth in (*REFUSED, 4, 5, 6))
    assert (rows[15]["bot"], rows[0]["status"], rows[12]["status"]) == (
        f"Hal Noyce_{number(15)}_assign_bot",
        "graded",
        "graded",
    )
    assert rows[20]["First name"] == "'=HYPERLINK(1)"
    assert {row["points"] for row in rows if row["status"] == "graded"} == {"0.00", "40.00"}
    assert rows[17]["neptr percent"] == rows[18]["neptr percent"]  # the same bot met the same cards

    silent, broken = (croupier("grades", f"s{number(nth)}", "-C", course).out for nth in (4, 8))
    assert f"s{number(4)} · 0 of 100 points · never answered" in silent and len(silent.splitlines()) <= 24
    assert "B020 answered only after its input was closed" in silent and "fflush(stdout)" in silent
    assert "ask fault:" in silent and "120 faults in 120 questions: 20 timeout, 100 benched" in silent
    assert broken.splitlines()[0] == f"s{number(8)} · 0 of 100 points · refused" and "B015 SyntaxError" in broken


@pytest.mark.long
def test_the_page_of_a_course_has_a_row_with_the_state_of_each_student(tmp_path: Path) -> None:
    course, inbox = tmp_path / "course", tmp_path / "inbox"
    (course / "bots").mkdir(parents=True)
    inbox.mkdir()
    settings = COURSE.replace("tables = 40", "tables = 10").replace('"300 ms"', '"100 ms"')
    (course / "croupier.toml").write_text(settings)
    for name in ("ada", "bob"):
        (inbox / f"{name}.py").write_text(PAZAAK_BOT.format(limit=15 + len(name)))
    (inbox / "dan.py").write_text("import sys\nfor line in sys.stdin\n    print('END')\n")
    (inbox / "eve.py").write_text(CRASHES)
    (inbox / "gus.py").write_text("import sys\nfor line in sys.stdin:\n    print('END', flush=True)\n    break\n")
    roster = tmp_path / "students.csv"
    names = {"ada": "Ada <b>L</b>", "bob": "Bob", "dan": "Dan", "eve": "Eve", "fay": "Fay", "gus": "Gus"}
    roster.write_text("name,id\n" + "".join(f"{name},{number}\n" for number, name in names.items()))
    assert croupier("add", *inbox.iterdir(), "-C", course).code == 4
    assert croupier("run", "-C", course).code == 0
    assert croupier("withdraw", "bob", "--reason", "copied", "-C", course).code == 0

    page = tmp_path / "class.html"
    assert croupier("report", "--roster", roster, "-o", page, "-C", course).code == 0
    (table, *_) = re.findall(r"<table class=\"group grades.*?</table>", page.read_text(), re.DOTALL)
    rows = re.findall(r"<tr>.*?</tr>", table, re.DOTALL)[1:]
    text = [" ".join(unescape(re.sub(r"<[^>]+>", " ", row)).split()) for row in rows]
    grades = json.loads(croupier("grades", "--roster", roster, "--json", "-C", course).out)["rows"]
    assert [line.split(" 0 ")[0] for line in text] == [
        f"{row['name']} {row['grade']['bot']}".strip() for row in grades
    ], text
    for line, row in zip(text, grades, strict=True):
        grade = row["grade"]
        assert f" {grade['points']} {grade['status']}" in line
        assert f"{grade['code']} {grade['why']}".strip() in line
    states = [row["grade"]["status"] for row in grades]
    assert states == ["graded", "withdrawn", "refused", "refused", "no submission", "graded"]
    assert "B015 SyntaxError: expected ':'" in text[2] and "<b>L" not in table
    assert "2 graded · 2 refused · 1 withdrawn · 1 no submission" in page.read_text()
    faulty = grades[5]["grade"]
    assert faulty["faults"] > 0 and f" {faulty['faults']} " in text[5]

    assert croupier("report", "--no-names", "-o", page, "-C", course).code == 0
    assert "3 bots" in page.read_text() and not re.search('[>"]Dan[<"]|SyntaxError|>gus<', page.read_text())
    both = croupier("report", "--no-names", "--roster", roster, "-C", course)
    assert both.code == 2 and "--roster names the students" in both.err
