"""The compose files: how they isolate, and what `croupier compose` writes for a folder."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import ROOT, croupier, croupier_process, cup_in, environment

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


def test_compose_writes_for_a_folder_what_ships_for_the_sample(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup")
    os.chown(cup, 1234, 1235) if os.geteuid() == 0 else None
    owner = cup.stat()
    assert croupier("compose", "--workers", 3, "-C", cup).code == 0
    written, ours = services(cup / "compose.yaml"), services(OURS)
    assert written["worker"]["scale"] == 3
    assert written["tournament"]["volumes"] == [".:/tournament:ro", "./run:/tournament/run"]
    assert {service["user"] for name, service in written.items() if name in PLAYS} == {f"{owner.st_uid}:{owner.st_gid}"}
    for name in PLAYS:
        del ours[name]["build"]
        same = ours[name].keys() - {"user", "scale", "volumes"}
        assert {key: written[name][key] for key in same} == {key: ours[name][key] for key in same}
    head = (cup / "compose.yaml").read_text().partition("x-common")[0]
    assert "docker build -f docker/Dockerfile --target all -t croupier:all ." in head
    assert "docker compose run --rm --use-aliases tournament" in head
    assert (cup / "seccomp.json").read_bytes() == (ROOT / "docker" / "seccomp.json").read_bytes()


def test_compose_writes_over_nothing_unasked(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup")
    (cup / "compose.yaml").write_text("mine")
    refused = croupier("compose", "-C", cup)
    assert (refused.code, refused.first.partition(" ")[0]) == (2, "error[C016]")
    assert (cup / "compose.yaml").read_text() == "mine"
    done = croupier("compose", "-C", cup, "--force")
    assert done.code == 0 and "docker build -f docker/Dockerfile --target all -t croupier:all ." in done.out


def test_compose_needs_a_tournament(tmp_path: Path) -> None:
    assert croupier("compose", "-C", tmp_path).first.startswith("error[C011]")


def test_an_engine_that_is_missing_is_named_before_anything_is_played(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup")
    done = croupier_process("compose", "--up", "-C", cup, env=environment(PATH="/nowhere"))
    assert done.code == 6
    assert done.err.startswith("error[S014] docker is not installed")


def docker_that(answers: str, folder: Path) -> str:
    """Return a PATH in which `docker` is a script."""
    (folder / "docker").write_text(f"#!/bin/sh\n{answers}\n")
    (folder / "docker").chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_an_engine_that_does_not_answer_is_quoted(tmp_path: Path) -> None:
    path = docker_that("echo 'Cannot connect to the Docker daemon' >&2; exit 1", tmp_path)
    done = croupier_process("compose", "--up", "-C", cup_in(tmp_path / "cup"), env=environment(PATH=path))
    assert (done.code, done.first) == (6, "error[S014] no Docker engine answers")
    assert "Cannot connect" in done.err


def test_an_image_that_is_missing_is_named_with_its_cure(tmp_path: Path) -> None:
    path = docker_that('[ "$1" != image ]', tmp_path)
    done = croupier_process("compose", "--up", "-C", cup_in(tmp_path / "cup"), env=environment(PATH=path))
    assert (done.code, done.first) == (6, "error[S015] there is no image croupier:all here")
    assert "docker build -f docker/Dockerfile" in done.err
