"""Projects of several files build with the tools of their language: modules, packages, libraries, systems."""

import zipfile
from pathlib import Path

import pytest
from command import croupier, cup_in
from helpers import answers_of, built, faults_of, played
from test_every_language import needs

from host.base.errors import UserError
from host.bots.bot_spec import BuiltBot
from host.sandbox.limits import MIB
from host.submissions.languages import tool
from protocols.wire import Move

STANDS = Move("S")


def laid(folder: Path, files: dict[str, str]) -> Path:
    """Write files into a folder, and return it."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def stands(bot: BuiltBot) -> bool:
    """Return whether a bot of cardshark always stands."""
    record = played("cardshark", [bot], 2, hands=1)
    assert not faults_of(record, bot.name), record.evidence
    return [answer for table in answers_of(record) for answer in table] == [STANDS] * 2


def own(folder: Path, build: str, run: str) -> Path:
    """Give a project its own build command and program; return its folder."""
    return laid(folder, {"bot.toml": f'build = ["{build}"]\nrun = ["{run}"]\n'})


# Go.


MODULE = {
    "go.mod": "module example.org/seven\n\ngo 1.19\n",
    "cards/cards.go": 'package cards\n\nfunc Move() string { return "S" }\n',
    "cards/cards_test.go": 'package cards\n\nimport "testing"\n\nfunc TestMove(t *testing.T) { t.Fatal() }\n',
}
MAIN_GO = (
    'package main\n\nimport (\n\t"fmt"\n\t"example.org/seven/cards"\n)\n\nfunc main() { fmt.Println(cards.Move()) }\n'
)


@pytest.mark.toolchains
@pytest.mark.parametrize("main", ["main.go", "cmd/seven/main.go"])
def test_a_go_module_builds(main: str, tmp_path: Path) -> None:
    needs("go")
    assert stands(built(laid(tmp_path / "seven", MODULE | {main: MAIN_GO})))


@pytest.mark.toolchains
def test_a_go_module_builds_by_its_own_command(tmp_path: Path) -> None:
    needs("go")
    assert stands(built(own(laid(tmp_path / "seven", MODULE | {"main.go": MAIN_GO}), "go build -o seven .", "./seven")))


@pytest.mark.toolchains
def test_go_files_without_a_module_leave_out_their_tests(tmp_path: Path) -> None:
    needs("go")
    files = {
        "main.go": 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println(move()) }\n',
        "move.go": 'package main\n\nfunc move() string { return "S" }\n',
        "move_test.go": 'package main\n\nimport "testing"\n\nfunc TestMove(t *testing.T) {}\n',
    }
    assert stands(built(laid(tmp_path / "seven", files)))


# Rust.


CRATE = {
    "Cargo.toml": '[package]\nname = "seven-up"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nmoves = "1"\n',
    ".cargo/config.toml": '[source.crates-io]\nreplace-with = "vendored"\n\n[source.vendored]\ndirectory = "vendor"\n',
    "vendor/moves/Cargo.toml": '[package]\nname = "moves"\nversion = "1.0.0"\nedition = "2021"\n',
    "vendor/moves/.cargo-checksum.json": '{"files":{}}',
    "vendor/moves/src/lib.rs": 'pub fn stand() -> &\'static str { "S" }\n',
    "src/hand.rs": "pub fn pick() -> &'static str { moves::stand() }\n",
    "src/main.rs": 'mod hand;\nfn main() { println!("{}", hand::pick()); }\n',
}


@pytest.mark.toolchains
def test_a_cargo_package_with_a_vendored_crate_builds(tmp_path: Path) -> None:
    needs("cargo", "rustc", "cc")
    bot = built(laid(tmp_path / "seven", CRATE))
    assert bot.spec.language == "rust" and stands(bot)
    assert not (Path(bot.folder) / "target").exists()


@pytest.mark.toolchains
def test_a_cargo_package_may_have_several_programs(tmp_path: Path) -> None:
    needs("cargo", "rustc", "cc")
    binaries = '\n[[bin]]\nname = "tool"\npath = "src/tool.rs"\n\n[[bin]]\nname = "seven"\npath = "src/main.rs"\n'
    chosen = CRATE["Cargo.toml"].replace('edition = "2021"\n', 'edition = "2021"\ndefault-run = "seven"\n') + binaries
    assert stands(built(laid(tmp_path / "seven", CRATE | {"Cargo.toml": chosen, "src/tool.rs": "fn main() {}\n"})))


@pytest.mark.toolchains
def test_a_cargo_package_builds_by_its_own_command(tmp_path: Path) -> None:
    needs("cargo", "rustc", "cc")
    command = "cargo build --release --offline"
    assert stands(built(own(laid(tmp_path / "seven", CRATE), command, "target/release/seven-up")))


# Java.


def jar(path: Path, folder: Path) -> None:
    """Create the jar of a library with a class that this machine compiles: moves.Move."""
    library = built(
        laid(
            folder / "library",
            {
                "moves/Move.java": 'package moves; public class Move { public static String stand() { return "S"; } }',
                "Main.java": "class Main { public static void main(String[] a) { moves.Move.stand(); } }",
            },
        )
    )
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(Path(library.folder) / "classes" / "moves" / "Move.class", "moves/Move.class")


@pytest.mark.long
def test_the_jars_of_a_java_project_are_on_its_class_path_and_its_tests_are_left_out(tmp_path: Path) -> None:
    needs("java", "javac", "jar")
    folder = laid(
        tmp_path / "seven",
        {
            "src/main/java/players/Seven.java": (
                "package players;\n\npublic class Seven {\n    public static void main(String[] a) {\n"
                "        System.out.println(moves.Move.stand());\n    }\n}\n"
            ),
            "src/test/java/players/SevenTest.java": (
                "package players;\n\nimport org.junit.jupiter.api.Test;\n\nclass SevenTest { @Test void plays() {} }\n"
            ),
        },
    )
    jar(folder / "lib" / "moves.jar", tmp_path)
    assert stands(built(folder))


# C++.


HEADER = "#pragma once\nint limit();\n"
MAIN_CPP = '#include <cards/limit.hpp>\n#include <cstdio>\nint main() { std::puts(limit() == 17 ? "S" : "H"); }\n'
LIMIT_CPP = '#include "cards/limit.hpp"\nint limit() { return 17; }\n'


def test_the_folder_include_of_a_cpp_project_is_searched(tmp_path: Path) -> None:
    files = {"include/cards/limit.hpp": HEADER, "src/main.cpp": MAIN_CPP, "src/limit.cpp": LIMIT_CPP}
    assert stands(built(laid(tmp_path / "seven", files)))


def test_a_project_that_does_not_build_by_itself_is_told_of_its_makefile(tmp_path: Path) -> None:
    files = {
        "headers/cards/limit.hpp": HEADER,
        "main.cpp": MAIN_CPP,
        "limit.cpp": LIMIT_CPP,
        "Makefile": "seven: main.cpp limit.cpp\n\tc++ -Iheaders -o $@ $^\n",
    }
    folder = laid(tmp_path / "seven", files)
    with pytest.raises(UserError) as refused:
        built(folder)
    (problem,) = refused.value.problems
    assert problem.hint == 'it has a Makefile; to build with it: build = ["make"] and run = ["./…"] in bot.toml'
    assert stands(built(own(folder, "make", "./seven")))


# Common Lisp.


SYSTEM = {
    "seven.asd": (
        '(defsystem "seven" :depends-on ("moves" "uiop") :serial t :entry-point "seven:main"\n'
        '  :components ((:file "src/package") (:file "src/main")))\n'
    ),
    "seven-tests.asd": '(defsystem "seven-tests" :depends-on ("fiveam"))\n',
    "src/package.lisp": "(defpackage :seven (:use :cl) (:export #:main))\n",
    "src/main.lisp": '(in-package :seven)\n(defun main () (format t "~a~%" (uiop:strcat (moves:stand))))\n',
    "lib/moves/moves.asd": '(defsystem "moves" :components ((:file "moves")))\n',
    "lib/moves/moves.lisp": '(defpackage :moves (:use :cl) (:export #:stand))\n(in-package :moves)\n(defun stand () "S")\n',
}


@pytest.mark.long
def test_an_asdf_system_with_a_library_in_its_folder_builds(tmp_path: Path) -> None:
    needs("sbcl")
    bot = built(laid(tmp_path / "seven", SYSTEM), heap=64 * MIB)
    assert bot.spec.entry == "seven.asd" and stands(bot)


def test_an_asdf_system_without_an_entry_point_is_refused(tmp_path: Path) -> None:
    needs("sbcl")
    plain = SYSTEM["seven.asd"].replace(':entry-point "seven:main"', "")
    with pytest.raises(UserError, match="the system seven has no :entry-point"):
        built(laid(tmp_path / "seven", SYSTEM | {"seven.asd": plain}))


@pytest.mark.long
def test_an_error_in_an_asdf_system_ends_the_bot(tmp_path: Path) -> None:
    needs("sbcl")
    files = SYSTEM | {"src/main.lisp": '(in-package :seven)\n(defun main () (error "no idea"))\n'}
    record = played("cardshark", [built(laid(tmp_path / "seven", files))], 1, hands=1)
    assert list(faults_of(record, "seven")) == ["crash"] and "no idea" in str(record.evidence)


# Python 2.


BOTS_OF_2011 = {
    "argv": (
        "import sys\n\nscore = int(sys.argv[1])\nif score < 0:\n    raise ValueError, 'no score'\n"
        'print "S" if 7 / 2 == 3 and __file__ == sys.argv[0] else "H"\n'
    ),
    "lines": 'while True:\n    try:\n        line = raw_input()\n    except EOFError, gone:\n        quit()\n    print "S"\n',
}


@pytest.mark.parametrize("protocol", BOTS_OF_2011)
def test_a_bot_in_python_2_plays_unchanged(protocol: str, tmp_path: Path) -> None:
    if tool("python2.7") is None:
        pytest.skip("NOT INSTALLED outside of a home folder: python2.7")
    files = {"old.py": BOTS_OF_2011[protocol], "bot.toml": f'python = "2.7"\nprotocol = "{protocol}"\n'}
    assert stands(built(laid(tmp_path / "old", files), protocol=protocol))


# What the scripts of others use.


@pytest.mark.long
def test_a_start_script_may_start_java(tmp_path: Path) -> None:
    needs("java")
    main = 'public class Main { public static void main(String[] words) { System.out.println("S"); } }\n'
    files = {"Main.java": main, "start.sh": "#!/bin/sh\nexec java -Xint -cp . Main\n"}
    folder = laid(own(tmp_path / "script", "javac Main.java", "./start.sh"), files)
    (folder / "start.sh").chmod(0o755)
    assert stands(built(folder, protocol="argv"))


@pytest.mark.parametrize("command", ["cp -p a b", "cp -a a b", "install -m644 a b", "python3 copies.py"])
def test_a_build_may_copy_files_with_what_is_known_of_them(command: str, tmp_path: Path) -> None:
    files = {
        "a": "S\n",
        "bot.py": "print(open('b').read().strip())\n",
        "copies.py": "import shutil\nshutil.copy2('a', 'b')\n",
    }
    files["bot.toml"] = f'language = "python"\nentry = "bot.py"\nbuild = ["{command}"]\n'
    assert stands(built(laid(tmp_path / "copy", files), protocol="argv"))


FILLS_TMP = """\
written = 0
try:
    with open("/tmp/file", "wb") as file:
        for _ in range(64):
            written += file.write(bytes(1 << 20))
            file.flush()
except OSError:
    pass
print("S" if written == WANTED << 20 else "H")
"""


@pytest.mark.parametrize("mebibytes", [4, 16, 40])
def test_the_limit_of_files_is_that_of_the_temporary_folder(mebibytes: int, tmp_path: Path) -> None:
    bot = built(laid(tmp_path / "fills", {"fills.py": FILLS_TMP.replace("WANTED", str(mebibytes))}), protocol="argv")
    assert stands(bot._replace(limits=bot.limits._replace(files=mebibytes * MIB)))


# Large submissions.


@pytest.mark.long
def test_the_organiser_may_accept_larger_files(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", ["cautious.c"])
    weights = tmp_path / "zoe" / "weights.bin"
    laid(tmp_path / "zoe", {"zoe.py": "print('S' if len(open('weights.bin', 'rb').read()) == 20 << 20 else 'H')\n"})
    weights.write_bytes(bytes(20 * MIB))
    refused = croupier("add", tmp_path / "zoe", "-C", cup)
    assert (refused.code, "weights.bin: is larger than 16 MiB" in refused.err) == (4, True)
    assert "hint: an organiser can accept larger files: submission in [limits] of croupier.toml" in refused.err

    config = cup / "croupier.toml"
    config.write_text(config.read_text().replace("[limits]", '[limits]\nsubmission = "20 MiB"'))
    added = croupier("add", tmp_path / "zoe", "-C", cup)
    assert (added.code, "S 40" in added.out) == (0, True), added.err
    assert croupier("run", "-C", cup).code == 0
    config.write_text(config.read_text().replace("20 MiB", "300 MiB"))
    assert "error[C009]" in croupier("run", "-C", cup).err
