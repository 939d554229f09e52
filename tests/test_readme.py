"""Run the README's commands as a reader types them."""

import re
import shlex
import tarfile
from pathlib import Path

import pytest
from command import ROOT, croupier_process

README = (ROOT / "README.md").read_text()
BLOCK = re.compile(r"^```(?P<language>console|python)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def commands(section: str) -> list[list[str]]:
    """Return the words of each command that a section shows, without the comments."""
    part = README.split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [
        line for block in BLOCK.finditer(part) if block["language"] == "console" for line in block["text"].splitlines()
    ]
    assert len(lines) >= 6 and all(line.startswith("$ ") for line in lines)
    return [shlex.split(line.removeprefix("$ "), comments=True) for line in lines]


@pytest.mark.long
def test_a_reader_can_type_every_command(tmp_path: Path) -> None:
    home, here = tmp_path / "home", tmp_path
    (home / "inbox").mkdir(parents=True)
    with tarfile.open(home / "inbox" / "grace.tar.gz", "w:gz") as archive:
        archive.add(ROOT / "sample_bots" / "cardshark" / "davey.c", "grace/grace.c")
    (tmp_path / "bots").mkdir()
    bot = next(block["text"] for block in BLOCK.finditer(README) if block["language"] == "python")
    (tmp_path / "bots" / "mine.py").write_text(bot)
    for words in commands("Write a bot") + commands("Run a tournament"):
        if words[0] == "cd":
            here /= words[1]
            continue
        assert words[0] == "croupier"
        typed = [word.replace("~", str(home)) for word in words[1:] if word != "--open"]
        few = ["-n", "50"] if words[1] == "compare" else []  # what is almost equal takes very many tables
        done = croupier_process(*typed, *few, cwd=here)
        if words[1] == "ask" and done.code:  # this bot makes no fault
            assert "fault:3" in done.err
        else:
            assert done.code in ((0, 1) if few else (0,)), (words, done.out, done.err)
