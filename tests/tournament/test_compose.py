"""The compose files: how they isolate."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import ROOT
from season_process import TestSeason

from host.sandbox.seccomp import FORBIDDEN

OURS = ROOT / "docker" / "compose.yaml"
PLAYS = ("scheduler", "worker", "tournament")
BUBBLEWRAP = "socket unshare mount umount2 pivot_root chroot sethostname"
OTHERS = """
setpriority sched_setaffinity sched_setscheduler sched_setattr sched_setparam ioprio_set mq_open mq_unlink mq_timedsend
mq_timedreceive mq_notify mq_getsetattr msgget msgsnd msgrcv msgctl semget semop semtimedop semctl shmget shmat shmdt shmctl
inotify_init inotify_init1 inotify_add_watch setxattr lsetxattr fsetxattr preadv2 memfd_create vmsplice tee io_setup
io_submit setsockopt bind connect listen fadvise64 mincore
"""
"""System calls that croupier, Python and toolchains may need; croupier's own filter denies them to bots."""


def services(path: Path) -> dict[str, Any]:
    """Return the services of a compose file, with the default values of its settings."""
    text = re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", path.read_text())
    found: dict[str, Any] = yaml.safe_load(text)["services"]
    return found


@pytest.mark.parametrize("name", PLAYS)
def test_what_plays_is_shut_in(name: str) -> None:
    service = services(OURS)[name]
    assert service["user"] == "1000:1000"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["networks"] == ["cluster"]
    assert {"pids_limit", "mem_limit"} <= service.keys()
    assert not {"privileged", "cap_add", "ports", "network_mode", "pid", "ipc", "devices"} & service.keys()


def test_nothing_is_privileged_unconfined_or_holds_the_engine() -> None:
    text = OURS.read_text()
    assert not re.search("privileged: *true|seccomp[=:]unconfined|docker.sock", text)
    assert all(network["internal"] for network in yaml.safe_load(text.replace("${", "$ {"))["networks"].values())


def test_the_profile_forbids_what_croupier_forbids_and_bubblewrap_does_not_need() -> None:
    profile = json.loads((ROOT / "docker" / "seccomp.json").read_text())
    (rule,) = profile["syscalls"]
    assert rule["action"] == "SCMP_ACT_ERRNO"
    assert set(FORBIDDEN) - set(rule["names"]) == {*BUBBLEWRAP.split(), *OTHERS.split()}


@pytest.mark.parametrize("name", ["compose.yaml", "season.yaml"])
def test_an_image_of_a_release_takes_the_place_of_a_build(name: str) -> None:
    text = (ROOT / "docker" / name).read_text()
    assert {service["image"] for service in services(ROOT / "docker" / name).values()} == {"croupier:all"}
    assert (
        "  image: ${CROUPIER_IMAGE:-croupier:all}\n" in text and "CROUPIER_IMAGE=ghcr.io/OWNER/croupier:all-v" in text
    )


def test_no_image_runs_as_root() -> None:
    last = re.split(r"^FROM ", (ROOT / "docker" / "Dockerfile").read_text(), flags=re.MULTILINE)
    published = [stage for stage in last if "ENTRYPOINT" in stage]
    assert len(published) == 2 and all("\nUSER croupier\n" in stage for stage in published)


@pytest.mark.long
def test_the_site_of_a_season_is_healthy_while_it_answers(tmp_path: Path) -> None:
    _, python, *words = services(ROOT / "docker" / "season.yaml")["web"]["healthcheck"]["test"]
    season = TestSeason(tmp_path / "cup")
    check = [python, *(word.replace("8080", str(season.port)) for word in words)]
    assert subprocess.run(check, capture_output=True, check=False).returncode == 1
    with season.opened(site=True):
        season.until(lambda: season.page("/"), "the site")
        assert subprocess.run(check, capture_output=True, check=False).returncode == 0
