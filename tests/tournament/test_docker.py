"""Tournaments in real containers: the same standings as on one machine, whatever is killed, with bots at level L3.

These tests need a Docker engine; tests/docker/start-engine.sh starts one on a Debian machine.
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from command import FAST, ROOT, Done, croupier, croupier_process, cup_in
from machines import until
from season_fixtures import tar
from season_process import TestSeason, plain_bot
from test_cluster import outcome
from test_referee import REFEREES, kill_referee
from test_season_intake import STEALS

from host.base.errors import UserError
from host.journal.reader import reading

pytestmark = pytest.mark.long
HERE = ROOT / "docker"
BASE = "debian:bookworm-slim"  # as in the Dockerfile
PROJECT, SEASON = "croupier-tests", "croupier-tests-season"
TOURNEYS = 16
RUN = ("run", "-T", "--use-aliases", "tournament")
"""The documented command of compose, without a terminal. Its container stays, so that it can be inspected."""

SHUT_IN = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
SHUT_IN += ["--tmpfs", "/tmp", "--tmpfs", "/cache:exec,mode=1777"]
PROFILE = ["--security-opt", f"seccomp={HERE / 'seccomp.json'}", "--security-opt", "apparmor=unconfined"]


def ran(*words: str, env: dict[str, str] | None = None, seconds: float = 400) -> Done:
    """Run a command."""
    done = subprocess.run(words, cwd=HERE, env=env, capture_output=True, text=True, timeout=seconds, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module", autouse=True)
def images() -> None:
    """Build both images, or skip if there is no Docker engine."""
    if shutil.which("docker") is None or ran("docker", "version").code:
        pytest.skip("NO DOCKER ENGINE ANSWERS: nothing about containers is tested here (tests/docker/start-engine.sh)")
    if ran("docker", "image", "inspect", BASE).code and ran("docker", "pull", "-q", BASE).code:
        pytest.skip(f"NO {BASE}, and no registry to pull it from: nothing about containers is tested here")
    for target in ("all", "host"):
        built = ran(
            *("docker", "build", "-q", "-f", "Dockerfile", "--target", target, "-t", f"croupier:{target}", ".."),
            env=os.environ | {"DOCKER_BUILDKIT": "1"},
        )
        assert built.code == 0, built.err


class Compose:
    """A tournament in containers."""

    def __init__(self, cup: Path, workers: int, first: bool) -> None:
        user = {} if os.geteuid() == 0 else {"CROUPIER_USER": f"{os.geteuid()}:{os.getegid()}"}
        idle = {"CROUPIER_IDLE": "100000"}  # prevents the scheduler from ending when it is idle
        self._env = os.environ | {"CROUPIER_TOURNAMENT": str(cup), "CROUPIER_WORKERS": str(workers)} | user | idle
        self._words = ["docker-compose"] if first else ["docker", "compose"]
        self.cup = cup

    def __call__(self, *words: str) -> Done:
        """Run a command of compose."""
        return ran(*self._words, "-p", PROJECT, *words, env=self._env)

    @contextmanager
    def running(self) -> Iterator["subprocess.Popen[bytes]"]:
        """Run the documented command; kill it at the end of the block. Its output is in the file `told`."""
        with (self.cup / "told").open("wb") as told:
            run = subprocess.Popen(
                [*self._words, "-p", PROJECT, *RUN],
                cwd=HERE,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=told,
                stderr=told,
                start_new_session=True,
            )
        try:
            yield run
        finally:
            run.kill()
            run.wait()

    def interrupted(self, fixtures: int) -> int:
        """Press ^C after a number of fixtures; return the exit code of compose."""
        with self.running() as run:
            self.until_played(fixtures)
            os.killpg(run.pid, signal.SIGINT)
            return run.wait(400)

    def containers(self, service: str) -> list[dict[str, Any]]:
        """Return the engine's descriptions of a service's containers, running or not."""
        label = f"label=com.docker.compose.service={service}"
        found = ran("docker", "ps", "-aq", "--filter", f"label=com.docker.compose.project={PROJECT}", "--filter", label)
        told: list[dict[str, Any]] = json.loads(ran("docker", "inspect", *found.out.split()).out)
        return told

    def played(self) -> int:
        """Return the number of fixtures in the journal."""
        try:
            with reading(self.cup / "run" / "run.sqlite") as journal:
                return len(journal.paths())
        except UserError:
            return 0

    def until_played(self, fixtures: int) -> None:
        """Wait until a number of fixtures is in the journal."""
        deadline = time.monotonic() + 200
        while self.played() < fixtures:
            assert time.monotonic() < deadline, self("logs").out[-3000:]
            time.sleep(0.1)

    def told(self) -> str:
        """Return the output of the tournament."""
        return self("logs", "--no-color", "tournament").out


def remove(project: str) -> None:
    """Remove what is left of a project of compose, also by a test that was killed: its networks would be gone."""
    label = f"label=com.docker.compose.project={project}"
    for kind, every, how in (("container", ["-a"], ["-f", "-v"]), ("network", [], []), ("volume", [], [])):
        if found := ran("docker", kind, "ls", *every, "-q", "--filter", label).out.split():
            ran("docker", kind, "rm", *how, *found)


def versions() -> list[bool]:
    """Return which versions of compose are installed; True is version 1."""
    return [False] * (ran("docker", "compose", "version").code == 0) + [True] * bool(shutil.which("docker-compose"))


@pytest.fixture
def compose(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Compose]:
    """Create a tournament in a number of containers; remove all of them afterwards."""
    workers, wanted = request.param
    here = versions()
    if not here:
        pytest.skip("NO DOCKER COMPOSE: neither version 1 nor 2")
    cup = cup_in(tmp_path / "cup", tourneys=TOURNEYS)
    remove(PROJECT)
    yield Compose(cup, workers, wanted if wanted in here else here[0])
    remove(PROJECT)


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tournament that was played on this machine."""
    cup = cup_in(tmp_path_factory.mktemp("native") / "cup", tourneys=TOURNEYS)
    assert croupier("-C", cup, "run").code == 0
    return cup


@pytest.mark.parametrize("compose", [(4, False)], indirect=True, ids=["four workers"])
def test_containers_play_as_one_machine_does_and_are_shut_in(compose: Compose, native: Path) -> None:
    done = compose(*RUN)
    assert done.code == 0, done.out[-3000:]
    assert outcome(compose.cup) == outcome(native)
    assert "level L3" in done.out + done.err
    assert (compose.cup / "run" / "report.html").stat().st_size > 10_000
    for service in ("scheduler", "worker", "tournament"):
        for container in compose.containers(service):
            shut, runs = container["HostConfig"], container["Config"]
            assert runs["User"].partition(":")[0] != "0"
            assert shut["CapDrop"] == ["ALL"]
            assert not shut["CapAdd"]
            assert shut["ReadonlyRootfs"]
            assert not shut["Privileged"]
            assert "no-new-privileges:true" in shut["SecurityOpt"]


BOTH = pytest.mark.parametrize("compose", [(1, True), (1, False)], indirect=True, ids=["version 1", "version 2"])


@pytest.mark.parametrize("compose", [(1, False)], indirect=True, ids=["version 2"])
def test_compose_ends_with_the_code_of_the_tournament_or_by_itself(compose: Compose) -> None:
    (compose.cup / "croupier.toml").write_text('game = "cardsharks"\n')
    done = compose(*RUN)
    assert (done.code, "error[C008]" in done.out + done.err) == (3, True), done.out[-3000:]
    others = ("scheduler", "worker", "folder")
    until(lambda: not any(each["State"]["Running"] for service in others for each in compose.containers(service)))
    alone = compose("up")
    assert alone.code == 0
    for service in (*others, "tournament"):
        assert {each["State"]["Running"] for each in compose.containers(service)} == {False}, service


@BOTH
@pytest.mark.proof
def test_ctrl_c_loses_nothing_that_is_finished(compose: Compose, native: Path) -> None:
    assert compose.interrupted(2) in (255, 130, 2, 1, 0)  # the exit code depends on the version of compose
    until(
        lambda: not any(each["State"]["Running"] for each in compose.containers("tournament"))
    )  # 2 does not wait for it
    assert compose.played() >= 2
    done = compose(*RUN)
    assert done.code == 0, done.out[-3000:]
    assert outcome(compose.cup) == outcome(native)


@pytest.mark.parametrize("compose", [(2, True)], indirect=True, ids=["version 1"])
@pytest.mark.proof
def test_the_documented_command_survives_the_kill_of_a_worker(compose: Compose, native: Path) -> None:
    assert "docker compose run --rm --use-aliases tournament" in (ROOT / "docs" / "running.md").read_text()
    with compose.running() as run:
        compose.until_played(2)
        assert ran("docker", "kill", compose.containers("worker")[0]["Id"]).code == 0
        assert run.wait(400) == 0, (compose.cup / "told").read_text()[-3000:]
    assert outcome(compose.cup) == outcome(native)


@pytest.mark.parametrize("compose", [(2, False)], indirect=True, ids=["two workers"])
def test_nothing_is_lost_whatever_is_killed(compose: Compose, native: Path) -> None:
    assert compose("up", "-d").code == 0
    compose.until_played(2)
    os.kill(compose.containers("worker")[0]["State"]["Pid"], signal.SIGKILL)
    compose.until_played(5)
    assert compose("restart", "-t", "2", "scheduler").code == 0
    compose.until_played(8)
    assert compose("down", "-t", "5").code == 0
    before = compose.played()
    assert before < TOURNEYS
    assert compose("up", "-d").code == 0
    tournament = max(
        compose.containers("tournament"), key=lambda container: container["Created"]
    )  # `run` leaves older ones
    assert ran("docker", "wait", tournament["Id"]).out.strip() == "0", compose.told()
    assert outcome(compose.cup) == outcome(native)


BOT = """import sys
import time

for line in sys.stdin:
    time.sleep(0.003)
    print({answer}, flush=True)
"""


def with_a_referee(cup: Path) -> Path:
    """Write a tournament whose game is a program in C. It takes some seconds."""
    (cup / "bots").mkdir(parents=True)
    shutil.copytree(REFEREES / "goofspiel_c", cup / "prizes")
    answers = {"low": "'LOW'", "high": "'HIGH'", "both": "'LOW' if '1' in line else 'HIGH'"}
    answers["first"] = "f\"BID {line.split()[3].split(',')[0]}\""
    for name, answer in answers.items():
        (cup / "bots" / f"{name}.py").write_text(BOT.format(answer=answer))
    (cup / "croupier.toml").write_text(
        'game = "prizes/"\nseed = "a seed for tests"\nbots = ["bots/*"]\n\n[limits]\nmove = "20 s"\ncpu = "20 s"\n\n'
        '[[stage]]\nkind = "round-robin"\ntables_per_pair = 150\n'
    )
    return cup


@pytest.mark.parametrize("compose", [(2, False)], indirect=True, ids=["two workers"])
@pytest.mark.proof
def test_a_referee_in_containers_that_is_killed_at_random_moments(compose: Compose, tmp_path: Path) -> None:
    native = with_a_referee(tmp_path / "native")
    assert croupier("-C", native, "run").code == 0
    shutil.rmtree(compose.cup)
    with_a_referee(compose.cup)
    chance, killed = random.Random(7), 0
    with compose.running() as run:
        compose.until_played(1)  # a killed compiler, or a referee that does not start, would be an error
        while compose.played() < 5 and run.poll() is None:
            time.sleep(chance.uniform(0.5, 1.0))
            for worker in compose.containers("worker"):
                killed += kill_referee(psutil.Process(worker["State"]["Pid"]))
        assert run.wait(400) == 0, (compose.cup / "told").read_text()[-3000:]
    assert killed
    assert (
        "the game failed: the referee has ended: killed by signal 9"
        in croupier("-C", compose.cup, "standings", "--json").out
    )
    assert outcome(compose.cup) == outcome(native)


def test_a_container_gives_l3_by_the_profile_and_less_without_it(tmp_path: Path) -> None:
    with_it = ran("docker", "run", "--rm", *SHUT_IN, *PROFILE, "croupier:all", "doctor", "--json")
    assert json.loads(with_it.out)["sandbox"] == "L3"
    rogues = ("counts_itself", "hydra", "reads_the_host", "remembers")
    attacked = ran("docker", "run", "--rm", *SHUT_IN, *PROFILE, "croupier:all", "doctor", "--attack", *rogues)
    assert attacked.code == 0, attacked.out
    without = json.loads(ran("docker", "run", "--rm", *SHUT_IN, "croupier:all", "doctor", "--json").out)
    assert without["sandbox"] in ("L2", "none")
    assert "seccomp=docker/seccomp.json" in json.dumps(without["problems"])
    cup = cup_in(tmp_path / "cup")
    refused = ran("docker", "run", "--rm", *SHUT_IN, "-v", f"{cup}:/tournament:ro", "croupier:all", "run")
    assert refused.code == 6
    assert refused.first.startswith('error[S001] [sandbox] level = "L3" is required, and this machine provides "')


def test_a_journal_on_a_read_only_volume_is_told_before_anything_is_played(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup")
    done = ran("docker", "run", "--rm", *SHUT_IN, *PROFILE, "-v", f"{cup}:/tournament:ro", "croupier:all", "run")
    assert done.code == 6
    assert done.first.startswith("error[R009] ")


@pytest.mark.parametrize("image", ["all", "host"])
def test_an_image_has_the_documentation(image: str) -> None:
    found = ran("docker", "run", "--rm", f"croupier:{image}", "docs", "Swiss")
    assert "formats.md" in found.out, found.err


def test_the_small_image_has_a_keeper_and_no_toolchain(tmp_path: Path) -> None:
    told = json.loads(ran("docker", "run", "--rm", *SHUT_IN, *PROFILE, "croupier:host", "doctor", "--json").out)
    assert told["sandbox"] == "L3"
    assert told["languages"] == {name: name in ("python", "perl", "bash", "any") for name in told["languages"]}
    cup = cup_in(tmp_path / "cup", FAST)
    refused = ran("docker", "run", "--rm", *SHUT_IN, *PROFILE, "-v", f"{cup}:/tournament:ro", "croupier:host", "run")
    assert refused.code == 6
    assert refused.first.startswith("error[S005] ")
    assert "apt install gcc" in refused.err


def test_the_images_have_the_sizes_that_their_page_states_and_no_root() -> None:
    page = (ROOT / "docs" / "running.md").read_text()
    for target in ("host", "all"):
        (stated,) = re.findall(rf"^\| `{target}` \| .*? \| ([\d.]+ [MG]B) \|", page, re.MULTILINE)
        number, unit = stated.split()
        told = ran("docker", "image", "inspect", "-f", "{{.Size}} {{.Config.User}}", f"croupier:{target}").out.split()
        assert int(told[0]) == pytest.approx(float(number) * {"MB": 1e6, "GB": 1e9}[unit], rel=0.2)
        assert told[1] == "croupier"


class SeasonInContainers(TestSeason):
    """A season in containers, and its site."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        user = {} if os.geteuid() == 0 else {"CROUPIER_USER": f"{os.geteuid()}:{os.getegid()}"}
        settings = {"CROUPIER_SEASON": str(folder), "CROUPIER_WORKERS": "1", "CROUPIER_BIND": f"127.0.0.1:{self.port}"}
        self._env = os.environ | settings | user

    def compose(self, *words: str) -> Done:
        """Run a command of compose."""
        return ran("docker", "compose", "-p", SEASON, "-f", "season.yaml", *words, env=self._env)

    def kill(self, service: str) -> None:
        """Kill the first process of a container; the engine starts it again."""
        (number,) = self.compose("ps", "-q", service).out.split()
        os.kill(json.loads(ran("docker", "inspect", number).out)[0]["State"]["Pid"], signal.SIGKILL)

    def link(self, author: str) -> str:
        """Invite an author with the documented command; return the link, for the port of this test."""
        told = self.compose("exec", "-T", "season", "croupier", "--json", "season", "invite", author)
        assert told.code == 0, told.err
        (row,) = told.json["rows"]
        return f"{self.url}/a/{row['link'].rpartition('/')[2]}"

    def rounds(self) -> int:
        """Return how many rounds the site shows as finished; -1 if it does not answer."""
        told = self.page("/api/rounds")
        return -1 if told is None else sum(row["state"] == "finished" for row in json.loads(told)["rows"])

    def until_rounds(self, more: int) -> None:
        """Wait until the site shows more rounds than now."""
        before = max(self.rounds(), 0)
        deadline = time.monotonic() + 200
        while self.rounds() < before + more:
            assert time.monotonic() < deadline, self.compose("logs", "--no-color", "--tail", "50").out
            time.sleep(0.2)


@pytest.fixture
def season(tmp_path: Path) -> Iterator[SeasonInContainers]:
    """Open a season in containers; remove all of them afterwards."""
    if False not in versions():
        pytest.skip("NO DOCKER COMPOSE 2: a season in containers is not tested")
    made = SeasonInContainers(tmp_path / "cup")
    remove(SEASON)
    try:
        assert (done := made.compose("up", "-d")).code == 0, done.err
        yield made
    finally:
        remove(SEASON)


@pytest.mark.proof
def test_a_season_in_containers_goes_on_whatever_is_killed(season: SeasonInContainers, tmp_path: Path) -> None:
    until(lambda: season.rounds() >= 0, 120)
    for author, answer in (("ada", "END"), ("bob", "STAND")):
        bot = tmp_path / f"{author}s.py"
        bot.write_bytes(plain_bot(answer))
        handed_in = croupier_process("submit", bot, "--to", season.link(author))
        assert handed_in.code == 0 and "accepted" in handed_in.out, handed_in
    season.until_rounds(2)
    for service in ("worker", "season", "web", "scheduler"):
        season.kill(service)
        until(lambda: season.rounds() >= 0, 120)
        season.until_rounds(2)
    assert season.compose("stop", "-t", "30").code == 0
    verified = croupier_process("-C", season.folder, "season", "verify", "--json")
    assert verified.code == 0 and verified.json["differences"] == [], verified
    assert {row["label"] for row in season.document("ladder")["rows"]} == {"adas-1", "bobs-1"}


def test_a_build_in_the_container_of_a_season_reads_neither_seed_nor_journal_nor_store(
    season: SeasonInContainers, tmp_path: Path
) -> None:
    until(lambda: season.rounds() >= 0, 120)
    for author, note in (("bob", "the-program-of-bob"), ("carl", "another")):
        bot = tmp_path / f"{author}s.py"
        bot.write_bytes(plain_bot("STAND", note))
        assert croupier_process("submit", bot, "--to", season.link(author)).code == 0
    season.until_rounds(1)
    with season.store() as store:
        program = f"{store.versions.get('bobs', 1).place}/bobs.py"
    journal, round_seed = "rounds/0001/run/run.sqlite", "rounds/0001/run/seed"
    names = ("seed", "season.sqlite", journal, round_seed, program, "published/site.sqlite")
    assert all((season.folder / name).exists() for name in names)
    script = STEALS.format(places=["bot.toml", *(f"/season/{name}" for name in names)], links=False)
    secrets = [(season.folder / name).read_text().strip() for name in ("seed", round_seed)]
    secrets += ["SQLite format 3", "the-program-of-bob"]
    free = season.compose("exec", "-T", "season", "python3", "-c", script, "build").out
    assert all(secret in free for secret in secrets)  # what it reads outside a sandbox
    upload = tmp_path / "adas.tar.gz"
    config = 'run = ["python3", "bot.py"]\nbuild = ["python3 bot.py build"]\nprotocol = "lines"  # its-own-file\n'
    upload.write_bytes(tar({"bot.toml": config, "bot.py": script}))
    assert croupier_process("submit", upload, "--to", season.link("ada")).code == 0
    told = json.dumps(season.document("mine/ada")["submissions"])
    assert "tried while it was built" in told and "its-own-file" in told and "tried at play" in told
    assert not [secret for secret in secrets if secret in told]
