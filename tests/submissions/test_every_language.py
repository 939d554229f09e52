"""Every language is a row of a table, and the hello program of every row builds and answers in the sandbox."""

import re
from pathlib import Path

import pytest
from helpers import AMPLE, answers_of, built, faults_of, long, played, written

from host.base.errors import UserError
from host.bots.bot_spec import BuiltBot
from host.sandbox.limits import MIB
from host.submissions.languages import LANGUAGES, Language, tool
from protocols.wire import Answer, Move

SET_APART = frozenset({"ruby", "php", "lua", "rust", "go", "haskell"})
"""The languages whose tests belong to the set `toolchains`, because their toolchains take long to install or to run."""


def marks(language: str) -> list[pytest.MarkDecorator]:
    """Return the pytest marks of the tests of a language."""
    return [pytest.mark.toolchains] if language in SET_APART else []


ROWS = [pytest.param(row, id=row.name, marks=marks(row.name)) for row in LANGUAGES.values()]
NAMES = {"java": "Hello"}
STANDS = Move("S")


def needs(*programs: str) -> None:
    """Skip with a message if a toolchain is missing."""
    missing = [program for program in programs if tool(program) is None]
    if missing:
        pytest.skip(f"NOT INSTALLED: {', '.join(missing)}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder for sources."""
    return tmp_path


def answers(bot: BuiltBot, tables: int = 2) -> list[Answer]:
    """Return the answer of a bot that plays cardshark alone."""
    record = played("cardshark", [bot], tables, hands=1)
    assert not faults_of(record, bot.name), record.evidence
    return [answer for table in answers_of(record) for answer in table]


HELLO = [long(row.values) if row.id == "java" else row for row in ROWS]  # test_every_sandbox plays this one too


@pytest.mark.parametrize("row", HELLO, ids=[row.id for row in ROWS])
def test_a_rows_hello_program_builds_and_answers(row: Language, folder: Path) -> None:
    needs(*row.programs)
    suffix = row.suffixes[0] if row.suffixes else ""

    bot = built(written(row.empty.source, suffix, folder, NAMES.get(row.name, "hello")), protocol="argv")

    assert bot.spec.language == row.name
    assert answers(bot) == [STANDS] * 2


@pytest.mark.parametrize("row", [row for row in ROWS if row.values[0].suffixes[1:]])
def test_every_suffix_of_a_row_is_that_language(row: Language, folder: Path) -> None:
    needs(*row.programs)
    for suffix in row.suffixes[1:]:  # the test above uses the first
        assert built(written(row.empty.source, suffix, folder, NAMES.get(row.name, "hello"))).spec.language == row.name


@pytest.mark.parametrize("compiler", ["ecl", "clisp"])
def test_other_lisps_run_the_same_script(compiler: str, folder: Path) -> None:
    needs(compiler)

    bot = built(written(LANGUAGES["lisp"].empty.source, ".lisp", folder), compiler=compiler)

    assert answers(bot) == [STANDS] * 2


@pytest.mark.parametrize("compiler", ["ecl", "clisp", "sbcl"])
def test_every_lisp_is_told_its_arguments(compiler: str, folder: Path) -> None:
    needs(compiler)
    arguments = {"sbcl": "(cdr sb-ext:*posix-argv*)", "ecl": "(last (si:command-args) 5)", "clisp": "ext:*args*"}
    source = f'(format t "~a~%" (if (= 5 (length {arguments[compiler]})) "S" (quote {arguments[compiler]})))'

    bot = built(written(source, ".lisp", folder), compiler=compiler)

    assert answers(bot) == [STANDS] * 2


BROKEN = {
    "c": ("int main(void) { return not_there; }", "not_there"),
    "cpp": ("int main() { return not_there; }", "not_there"),
    "rust": ("fn main() { not_there(); }", "not_there"),
    "go": ("package main\n\nfunc main() { notThere() }", "notThere"),
    "haskell": ("main = notThere", "notThere"),
    "java": ("class Broken { public static void main(String[] a) { not_there(); } }", "not_there"),
}


@pytest.mark.parametrize(
    "language", [long(name) if name == "java" else pytest.param(name, marks=marks(name)) for name in BROKEN]
)
def test_a_failed_build_shows_the_compilers_words(language: str, folder: Path) -> None:
    needs(*LANGUAGES[language].programs)
    source, word = BROKEN[language]

    with pytest.raises(UserError, match=word) as refused:
        built(written(source, LANGUAGES[language].suffixes[0], folder, "Broken"))

    (problem,) = refused.value.problems
    assert (problem.code, refused.value.exit_code) == ("B010", 4)
    assert re.search("error|undefined", problem.evidence)
    assert "/bot/" not in problem.evidence


def test_a_missing_toolchain_is_named_with_its_cure(folder: Path) -> None:
    with pytest.raises(UserError, match="nowhere-to-be-found") as refused:
        built(written("print('S')\n", ".py", folder), needs=("nowhere-to-be-found",))

    assert refused.value.exit_code == 6


def test_a_toolchain_in_a_home_folder_is_named_with_its_cure(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / ".cargo" / "bin" / "oxidize"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(UserError) as refused:
        built(written("print('S')\n", ".py", folder), needs=("oxidize",))

    (problem,) = refused.value.problems
    assert f"sandboxes do not show {tool}" in problem.message
    assert "below /usr/local: no home folder is visible to a bot" in problem.hint


def test_c_of_2011_without_its_headers_builds_and_plays(folder: Path) -> None:
    source = """
        #include <stdio.h>
        #include <math.h>

        helper(score) { return score < 17; }

        main(int argc, char **argv)
        {
            int score = atoi(argv[1]);
            char *copy = malloc(strlen(argv[2]) + 1);
            strcpy(copy, argv[2]);
            if (helper(score) && sqrt(score) < 0) exit(1);
            printf("S\\n");
            return 0;
        }
    """

    assert answers(built(written(source, ".c", folder))) == [STANDS] * 2


SMALL = AMPLE._replace(memory=128 * MIB)


@pytest.mark.long
def test_java_runs_within_128_mebibytes(folder: Path) -> None:
    needs("java", "javac", "jar")
    source = """
        import java.util.*;

        public class Small {
            public static void main(String[] arguments) {
                List<Integer> numbers = new ArrayList<>();
                for (int n = 0; n < 1_000_000; n++) numbers.add(n);
                System.out.println(numbers.stream().mapToInt(n -> n % 3).sum() > 0 ? "S" : "H");
            }
        }
    """

    assert answers(built(written(source, ".java", folder, "Small"), limits=SMALL, heap=64 * MIB)) == [STANDS] * 2


def test_sbcl_runs_within_128_mebibytes(folder: Path) -> None:
    needs("sbcl")
    source = """
        (let ((numbers (loop for n below 100000 collect (* n n))))
          (format t (if (plusp (reduce #'+ numbers)) "S~%" "H~%")))
    """

    assert answers(built(written(source, ".lisp", folder), limits=SMALL)) == [STANDS] * 2


def test_a_python_bot_need_not_flush_what_it_prints_over_lines(folder: Path) -> None:
    source = """
        import sys

        for question in sys.stdin:
            print("S")
    """

    assert answers(built(written(source, ".py", folder), protocol="lines"), 5) == [STANDS] * 5


def test_a_python_bot_is_the_main_module_of_its_own_file(folder: Path) -> None:
    source = """
        import sys
        from dataclasses import dataclass
        from pathlib import Path

        @dataclass
        class Hand:
            score: int

        if __name__ == "__main__":
            assert Path(__file__).name == "bot.py" and sys.argv[0] == "bot.py" and len(sys.argv) == 6, sys.argv
            print("S" if Hand(int(sys.argv[1])).score else "H")
    """

    assert answers(built(written(source, ".py", folder))) == [STANDS] * 2


def test_a_python_bot_may_import_its_neighbours(folder: Path) -> None:
    written("MOVE = 'S'\n", ".py", folder, "strategy")
    written("import strategy\nprint(strategy.MOVE)\n", ".py", folder, "player")
    (folder / "bot.toml").write_text('name = "p"\ngame = "cardshark"\nlanguage = "python"\nentry = "player.py"\n')

    assert answers(built(folder)) == [STANDS] * 2


@pytest.mark.long
def test_a_java_class_in_a_package_is_found(folder: Path) -> None:
    needs("java", "javac", "jar")
    source = """
        package players.strong;

        class Helper { static String move() { return "S"; } }

        public class Strong {
            public static void main(final String... arguments) { System.out.println(Helper.move()); }
        }
    """

    assert answers(built(written(source, ".java", folder, "Strong"))) == [STANDS] * 2


def test_a_manifests_own_build_and_command_are_used(folder: Path) -> None:
    written('#include <stdio.h>\nint main(int n, char **a) { return puts(n == 7 ? "S" : "H") < 0; }\n', ".c", folder)
    (folder / "bot.toml").write_text(
        'name = "own"\ngame = "cardshark"\nlanguage = "any"\nbuild = ["cc -o one bot.c", "mv one two"]\n'
        'run = ["./two", "extra"]\n'
    )

    assert answers(built(folder)) == [STANDS] * 2


def test_building_twice_finds_what_was_built(folder: Path) -> None:
    source = written(LANGUAGES["c"].empty.source, ".c", folder)

    assert built(source) == built(source)
