"""The compose files: how they isolate."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import ROOT

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
