"""Run the commands shown in docs and compare their output; check that every link has a target.

Comments in a page turn its blocks into tests. All blocks of a page share one scratch folder, from top to bottom:

    <!-- file: bots/mine.py -->     write the block below to this file
    <!-- edit: bots/mine.py -->     replace the lines of this file from the block's first line to the next empty line
    <!-- tested -->                 run the console block below: `$ ` starts a command, the other lines are its output;
                                    at `^C`, interrupt the command once it has printed the lines above
    <!-- tested: figures -->        the same, but all figures may differ, because the cards are random
    <!-- new folder: long, ecl -->  start in a new folder; the words are pytest marks and required programs

In an output, `…` stands for any characters, or, alone on a line, for any lines. Several spaces count as one. Figures with
a unit of time or memory may differ, and so may the level of the sandbox and the placement of the workers. Progress lines
are printed only on slow machines and are ignored unless the page shows one. After an output has changed, `PYTHONPATH=$(echo
tests tests/* | tr ' ' :) python tests/project/test_docs.py docs/PAGE.md` rewrites the page; review the difference.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from command import CROUPIER, environment
from helpers import CACHE
from test_every_language import needs
from test_project import tracked

from host.cli import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(
    r"^<!-- (file|edit|tested|new folder)(?:: (.*?))? -->\n(?:(```+).*\n((?:.*\n)*?)\3\n)?", re.MULTILINE
)
MEASURED = r"\d(?:[\d.,\u202f]*\d)? *(?:µs|ms|s|min|h|kB|KiB|MiB)\b"
VARIES = {
    "measured": rf"{MEASURED}(?: to {MEASURED})?",  # an interval whose ends are equal is printed as one figure
    "level": r"\bL(?:2, Landlock|3, namespaces|4, control groups)",
    "placement": r"(?:, each on a core of its own| on any core(?: \([^)]*\))?)",
    "blanks": r" +",
    "anything": "…",
}
FIGURES = VARIES | {"hash": r"\b[0-9a-f]{8,}\b", "figure": r">?\d(?:[\d.,\u202f]*\d)?"}
"""The parts of an output that may differ, as long as the same pattern matches."""

PROGRESS = re.compile(r"^(?:\S+ +\d+ %  \d+ of \d+ fixtures|\d+ tables .* % of the way to ).*\n", re.MULTILINE)
COMMAND_TIMEOUT_S = 300  # limit for one command on a slow machine


class Step(NamedTuple):
    """One step of a page: a file to write or edit, or a command to run and its output."""

    line: int
    command: str
    text: str
    file: str = ""
    figures: bool = False  # whether all figures may differ

    def write(self, folder: Path) -> None:
        """Write or edit the file."""
        path = folder / self.file
        text = self.text
        if self.command == "edit":
            old = re.compile(rf"^{re.escape(text.partition(chr(10))[0])}\n(?:.+\n)*", re.MULTILINE)
            text, found = old.subn(lambda _: self.text, path.read_text(), count=1)
            assert found, f"{path} has no line {self.text.splitlines()[0]!r}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755 if text.startswith("#!") else 0o644)


class Scene(NamedTuple):
    """The steps of a page in one folder, from its top or from one `new folder` to the next."""

    page: Path
    heading: str
    needs: tuple[str, ...]
    steps: list[Step]


def scenes(page: Path) -> Iterator[Scene]:
    """Yield the scenes of a page."""
    text = page.read_text()
    scene = Scene(page, "", (), [])
    for block in BLOCK.finditer(text):
        kind, words, _fence, body = block.groups()
        above = text[: block.start()]
        if kind == "new folder":
            if scene.steps:
                yield scene
            (*_, heading) = re.findall(r"^#+ (.*)", above, re.MULTILINE)
            scene = Scene(page, heading, tuple(words.split(", ")), [])
            continue
        assert body, f"{page}: no block below {block[0]}"
        line = above.count("\n") + 2
        if kind in ("file", "edit"):
            scene.steps.append(Step(line, kind, body, words))
            continue
        for at, part in enumerate(re.split(r"^\$ ", body, flags=re.MULTILINE)):
            command, _, expected = part.partition("\n")
            assert bool(at) == bool(part), f"{page}:{line}: a console block begins with `$ `"
            if at:
                line += 1
                scene.steps.append(Step(line, command, expected, figures=words == "figures"))
                line += expected.count("\n")
    if scene.steps:
        yield scene


def pattern(step: Step, expected: str) -> re.Pattern[str]:
    """Return an expected output as a pattern."""
    varies = FIGURES if step.figures else VARIES
    lines = (
        r"(?:.*\n)*?" if line == "…" else varied(line.rstrip(), varies) + r" *\n" for line in expected.splitlines()
    )
    return re.compile("".join(lines))


def varied(line: str, varies: Mapping[str, str]) -> str:
    """Return a line as a pattern."""
    whole, at = "", 0
    for part in re.finditer("|".join(f"(?P<{name}>{how})" for name, how in varies.items()), line):
        assert part.lastgroup is not None
        whole += re.escape(line[at : part.start()]) + (".*" if part[0] == "…" else varies[part.lastgroup])
        at = part.end()
    return whole + re.escape(line[at:])


@cache
def programs() -> Path:
    """Return a folder with the command `croupier`, as pages call it."""
    folder = Path(tempfile.mkdtemp(prefix="docs-", dir=CACHE))
    (folder / "croupier").write_text(f'#!/bin/sh\nexec {" ".join(CROUPIER)} "$@"\n')
    (folder / "croupier").chmod(0o755)
    return folder


def printed(step: Step, folder: Path) -> str:
    """Run a command and return its output and errors; press ^C where the page does."""
    path = os.pathsep.join([str(programs()), str(Path(sys.executable).parent), os.environ["PATH"]])
    process = subprocess.Popen(
        ["/bin/sh", "-c", f"exec {step.command}" if "^C\n" in step.text else step.command],
        cwd=folder,
        env=environment(PATH=path, COLUMNS="100", NO_COLOR="1", LANG="C.UTF-8", HOME=str(folder)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    too_long = threading.Timer(COMMAND_TIMEOUT_S, os.killpg, (process.pid, signal.SIGKILL))
    too_long.start()
    assert process.stdout is not None
    printed_text = ""
    above, pressed, _ = step.text.partition("^C\n")
    with process, process.stdout as output:
        for line in output:
            printed_text += line
            if pressed and pattern(step, above).fullmatch(printed_text):
                printed_text, pressed = printed_text + "^C\n", ""
                os.killpg(process.pid, signal.SIGINT)  # to the whole process group, like a terminal
    too_long.cancel()
    printed_text = re.sub(r"\n+\Z", "\n", printed_text)
    return printed_text if PROGRESS.search(step.text) else PROGRESS.sub("", printed_text)


def played(scene: Scene, folder: Path) -> Iterator[tuple[Step, str]]:
    """Run the steps of a scene in a folder; yield each command and its output."""
    place = folder
    for step in scene.steps:
        if step.file:
            step.write(place)
        elif step.command.startswith("cd "):
            place = (place / step.command[3:].split("#")[0].strip()).resolve(strict=True)
        else:
            yield step, printed(step, place)


SLOW_PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / "games").iterdir(),
    *(ROOT / "docs" / f"{name}.md" for name in ("debugging", "languages", "you-have")),
)
"""Pages whose commands build bots in many languages, play whole tournaments, or start a bot for every question."""

SCENES = [
    pytest.param(
        scene,
        id=f"{page.relative_to(ROOT).with_suffix('')}-{scene.heading}".removeprefix("docs/").strip("-"),
        marks=[pytest.mark.long] if "long" in scene.needs or page in SLOW_PAGES else [],
    )
    for page in [ROOT / "README.md", *PAGES]
    for scene in scenes(page)
]


@pytest.mark.parametrize("scene", SCENES)
def test_what_a_page_shows_is_what_happens(scene: Scene, tmp_path: Path) -> None:
    needs(*(program for program in scene.needs if program != "long"))
    for step, printed_text in played(scene, tmp_path):
        fails = re.search(r"^error\[", printed_text, re.MULTILINE) and "error[" not in step.text
        if fails or not pattern(step, step.text).fullmatch(printed_text):
            where = f"{scene.page.relative_to(ROOT)}:{step.line}: $ {step.command}"
            pytest.fail(f"{where}\n--- expected\n{step.text}--- printed\n{printed_text}", pytrace=False)


# Links and completeness.


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts create them."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_has_a_target() -> None:
    dead = []
    for page in [path for path in tracked() if path.suffix == ".md"]:
        prose = re.sub(r"^(```+).*?^\1$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", prose):
            path, _, anchor = link.partition("#")
            if re.match("[a-z]+:", link):
                continue
            target = page.parent / path if path else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                dead.append(f"{page.relative_to(ROOT)}: {link}")
    assert not dead


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    pages = [str(page.relative_to(ROOT / "docs")) for page in PAGES]
    assert [page for page in pages if page != "README.md" and f"]({page}" not in index] == []


def test_every_command_is_documented() -> None:
    pages = "".join(page.read_text() for page in PAGES)
    assert [command for command in COMMANDS if not re.search(rf"croupier {command}\b", pages)] == []


# Rewriting a page.


def rewritten(page: Path) -> str:
    """Return a page with all outputs that do not match replaced by the real ones."""
    lines = page.read_text().splitlines(keepends=True)
    for scene in scenes(page):
        with tempfile.TemporaryDirectory() as folder:
            for step, printed_text in played(scene, Path(folder).resolve()):
                if not pattern(step, step.text).fullmatch(printed_text):
                    lines[step.line] = printed_text + lines[step.line] if not step.text else printed_text
                    for line in range(step.line + 1, step.line + step.text.count("\n")):
                        lines[line] = ""
    return "".join(lines)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(rewritten(Path(name)))
