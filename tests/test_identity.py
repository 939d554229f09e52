"""The sha256 of a bot, and the bytes between croupier and its workers, do not follow the names of classes and fields."""

from pathlib import Path

import pytest
from house import built

from host.bots.build import SPELLED_LIMITS, spelled_spec, spelled_steps
from host.bots.languages import Step
from host.bots.limits import Limits
from host.bots.spec import Spec

C = '#include <stdio.h>\nint main(void) { puts("S"); return 0; }\n'
JAVA = 'public class Hello { public static void main(String[] a) { System.out.println("S"); } }\n'
PYTHON = 'print("S")\n'
MANIFEST = 'name = "three"\nauthor = "A. Author"\ngame = "cardshark"\nlanguage = "python"\nentry = "three.py"\n'


@pytest.mark.parametrize(
    ("name", "files", "sha256"),
    [
        ("one.c", {"one.c": C}, "b493e0825dd8fa467de4bc20d5282c96bd4ecc586dc44faf599d33ea9a286cd4"),
        ("Hello.java", {"Hello.java": JAVA}, "4282e0f92004c45afcf493dd8425e6205454ba2eaa09151f5c8b3c7dda975a08"),
        (
            "three",
            {"three/three.py": PYTHON, "three/bot.toml": MANIFEST},
            "dca096fa8e35490f980073b26ef05982d79fc95c0249ab5c163df700d71a82b0",
        ),
    ],
)
def test_a_bot_keeps_its_sha256(name: str, files: dict[str, str], sha256: str, tmp_path: Path) -> None:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert built(tmp_path / name).sha256 == sha256


def test_the_sha256_covers_each_field_of_a_spec_but_where_it_lies_and_its_limits() -> None:
    spec = Spec(
        name="a",
        folder=Path("/somewhere"),
        files=("b.py", "c.py"),
        language="python",
        author="d",
        game="pazaak",
        protocol="lines",
        sources=("b.py",),
        entry="c.py",
        main="Main",
        run=("e", "f"),
        build=("make",),
        compiler="ecl",
        adapter="banksalad",
        heap=1 << 20,
        python="3.11",
        requires=("numpy==1",),
        env=(("KEY", "value"),),
        needs=("awk",),
        abreast=16,
        tables=True,
        lifetime="table",
        warm=True,
        state="memory",
        state_lifetime="stage",
        limits=Limits(move=2),
        manifest="/somewhere/bot.toml",
        wheels=Path("/wheels"),
    )
    assert spelled_spec(spec) == (
        "Spec(name='a', folder=PosixPath('.'), files=('b.py', 'c.py'), language='python', author='d', game='pazaak', "
        "protocol='lines', sources=('b.py',), entry='c.py', main='Main', run=('e', 'f'), build=('make',), compiler='ecl', "
        "adapter='banksalad', heap=1048576, python='3.11', requires=('numpy==1',), env=(('KEY', 'value'),), "
        "needs=('awk',), abreast=16, tables=True, lifetime='table', warm=True, state='memory', state_lifetime='stage', "
        f"limits={SPELLED_LIMITS}, manifest='', wheels=None)"
    )


def test_the_folder_of_a_build_is_named_by_its_commands() -> None:
    steps = [Step(("cc", "a.c")), Step(("jar", "x"), optional=True, makes=("b",))]
    assert spelled_steps(steps) == (
        "[Step(command=('cc', 'a.c'), optional=False, makes=()), Step(command=('jar', 'x'), optional=True, makes=('b',))]"
    )
