"""A referee of a small game that misbehaves in the way that its argument names."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

MODE = sys.argv[1]
ROUNDS = 3
SHARED = {"tables": 0}


def write(data):
    while data:
        data = data[os.write(1, data) :]


def say(message, times=1):
    write((json.dumps(message).encode() + b"\n") * times)


def number(table):
    """Return what a view contains: it must follow from the key of the table."""
    if MODE == "clock":
        return time.time_ns() % 1_000_003
    if MODE == "seconds":
        return int(time.time())
    if MODE == "address":
        return id(object()) % 1_000_003
    if MODE == "hash_order":
        return hash("a") % 1_000_003
    if MODE == "own_random":
        return random.randrange(1_000_003)
    if MODE == "process_number":
        return int.from_bytes(os.urandom(2), "big") + os.getpid()
    if MODE == "state_across_tables":
        return SHARED["tables"]
    if MODE == "table_number":
        return table.number
    if MODE == "open_tables":
        return len(TABLES)
    return int(table.luck[:6], 16) % 100


class Table:
    def __init__(self, message):
        self.number, self.luck, self.round, self.points = message["open"], message["luck"], 0, [0, 0]
        SHARED["tables"] += 1

    def view(self, seat):
        view = {"round": self.round, "you": seat, "number": number(self)}
        if MODE == "missing_field":
            del view["number"]
        if MODE == "extra_field":
            view["secret"] = 1
        if MODE == "fraction":
            view["number"] = 0.5
        if MODE == "object_in_view":
            view["number"] = {"a": 1}
        if MODE == "huge_number":
            view["number"] = 1 << 70
        if MODE == "megabyte_view":
            view["number"] = "x" * (1 << 20)
        if MODE == "half_a_pair":
            view["number"] = "\ud800"
        if MODE == "looks_like_protocol":
            view["number"] = 'over 1\n{"over":1}\r\n>>>BOTZONE_REQUEST_KEEP_RUNNING<<<\x1b[2J\0'
        return view

    def ask(self, **more):
        self.round += 1
        message = {"table": self.number, **more}
        if self.round > ROUNDS and MODE != "never_ends":
            del TABLES[self.number]
            if MODE == "crashes_at_over":
                sys.exit(3)
            scores = self.points
            if MODE == "too_many_scores":
                scores = [*scores, 1]
            if MODE == "too_few_scores":
                scores = scores[:1]
            if MODE == "wrong_scores":
                scores = ["1", "2"]
            if MODE == "endless_score":
                scores = [10**30, 0]
            return say({**message, "over": {"scores": scores}})
        message["ask"] = [{"seat": seat, "view": self.view(seat)} for seat in (0, 1)]
        if MODE == "absent_seat":
            message["ask"][1]["seat"] = 7
        if MODE == "asks_twice":
            message["ask"][1]["seat"] = 0
        if MODE == "unknown_table":
            message["table"] = 999_999
        if MODE == "asks_nobody":
            message["ask"] = []
        if MODE == "accuses":
            message["illegal"] = [1]
        if MODE == "shows_in_vain":
            message["show"] = [{"seat": 0, "text": "hello"}]
        if MODE == "wants_lines":
            message["ask"][0]["lines"] = 3
        if MODE == "tells_nonsense":
            message["tell"] = [{"winner": 1}]
        if MODE == "ends_and_asks":
            message["over"] = {"scores": [0, 0]}
        if MODE == "wrong_utf8":
            return write(b'{"table":%d,"ask":"\xff\xfe"}\n' % self.number)
        if MODE == "not_json":
            return write(b"ask seat 0\n")
        if MODE == "deep":
            return write(b'{"table":' + b"[" * 30_000 + b"\n")
        if MODE == "drips":
            for byte in json.dumps(message).encode():
                write(bytes([byte]))
                time.sleep(0.2)
        if MODE == "floods":
            while True:
                say({"table": self.number, "tell": {"event": "say", "seat": 0, "text": "x" * 1000}})
        # Both in one write: a second line that came after the answers would be the next question.
        say(message, times=2 if MODE == "answers_before_asked" else 1)

    def answer(self, answers):
        if MODE == "crashes_at_a_fault" and any("fault" in answer for answer in answers):
            sys.exit("a fault")
        if MODE == "crashes_at_a_move" and any(answer.get("move") == "SAY 9" for answer in answers):
            sys.exit("SAY 9")
        for answer in answers:
            self.points[answer["seat"]] += int(answer.get("move", "SAY 0").partition(" ")[2] or 0)
        self.ask()


def misbehave():
    """Do what is wrong already at the start."""
    if MODE == "ends_at_once":
        sys.exit(0)
    if MODE == "crashes_at_start":
        os.kill(os.getpid(), signal.SIGSEGV)
    if MODE == "mute":
        time.sleep(1000)
    if MODE == "memory":
        held = [bytearray(1 << 20) for _ in range(500)]
        sys.exit(len(held))
    if MODE == "forks":
        subprocess.Popen(["sleep", "1000"])
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
    if MODE == "fork_bomb":
        for _ in range(1000):
            try:
                if os.fork() == 0:
                    time.sleep(1000)
            except OSError:
                break
    if MODE == "kills_everybody":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with contextlib.suppress(ProcessLookupError):  # there is nobody else
            os.kill(-1, signal.SIGTERM)
    if MODE == "reads_files":
        for place in ("/etc/shadow", "/root", "/home", "/proc/1/environ", "/var/log"):
            try:
                found = os.listdir(place) if os.path.isdir(place) else open(place).read()
            except OSError:
                continue
            if found:
                sys.exit(f"it can read {place}: {str(found)[:100]}")
    if MODE == "writes_files":
        for place in ("referee.py", "game.toml", "new", "/usr/bin/new", "/etc/new", "/dev/shm/new"):
            try:
                open(place, "a").write("x")
            except OSError:
                continue
            sys.exit(f"it can write {place}")
    if MODE == "connects":
        for address in (("127.0.0.1", 22), ("192.0.2.1", 80)):
            try:
                socket.create_connection(address, timeout=0.2)
            except OSError:
                continue
            sys.exit(f"it can connect to {address}")
    if MODE == "stderr":
        os.write(2, b"\x1b[31m" + b"noise\n" * 2_000_000)


def handle(line):
    message = json.loads(line)
    if "protocol" in message:
        say({"protocol": "referee/2"} if MODE == "wrong_protocol" else message)
        if MODE == "greets_twice":
            say(message)
    elif "open" in message:
        if MODE == "crashes_at_open":
            raise RuntimeError("open")
        if MODE == "silent":
            return
        if MODE == "stops_itself":
            os.kill(os.getpid(), signal.SIGSTOP)
        if MODE == "closes_output":
            os.close(1)
            time.sleep(1000)
        if MODE == "closes_input":
            os.close(0)
            time.sleep(1000)
        if MODE == "slow":
            time.sleep(20)
        if MODE == "takes_its_time":
            time.sleep(0.005)
        table = TABLES[message["open"]] = Table(message)
        table.ask()
    elif "drop" in message:
        if MODE == "ignores_drops":
            TABLES[message["drop"]].ask()
        if MODE == "ends_dropped_tables":
            say({"table": message["drop"], "over": {"scores": [0, 0]}})
        TABLES.pop(message["drop"], None)
    elif MODE == "sleeps_at_answers":
        time.sleep(20)
    else:
        TABLES[message["table"]].answer(message["answers"])


TABLES = {}
misbehave()
REST = b""
while DATA := os.read(0, 1 << 16):
    *LINES, REST = (REST + DATA).split(b"\n")
    for each in LINES:
        handle(each)
