"""A bot for SBCL that starts from a saved core is the bot that starts cold: only what is the same every time is in it."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio
from house import AMPLE, CACHE, built, levels, nothing_left_behind

from host.bots import build as building
from host.bots.build import build, log_of
from host.bots.check import checked
from host.bots.finding import find
from host.bots.housed import housed
from host.bots.languages import PARTING, quoted, sbcl
from host.bots.limits import MIB, Limits
from host.bots.ready import ready
from host.bots.seat import seated
from host.bots.spec import Bot
from host.bots.told import Evidence, Question
from host.bots.watch import a_watcher
from host.games import GAMES
from host.problems import Refused
from protocols.words import Answer, Fault, FaultKind, Move

GAME = GAMES["cardshark"]
STANDS, HITS = Move("S"), Move("H")
LEVEL = levels()[-1]


def folder_of(source: str, manifest: str = "", **files: str) -> Path:
    """Write the folder of a warm bot in Lisp."""
    folder = CACHE / "cores" / f"c{abs(hash((source, manifest, *files.items())))}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"bot.lisp": source, **files}.items():
        (folder / name).write_text(text)
    (folder / "bot.toml").write_text(f'language = "lisp"\nentry = "bot.lisp"\nwarm = true\n{manifest}')
    return folder


def asked(level: str, bot: Bot, questions: int = 3, limits: Limits = AMPLE) -> tuple[list[Answer], Sequence[Evidence]]:
    """Ask a bot the same question as often; return its answers and the evidence."""

    async def ask() -> tuple[list[Answer], Sequence[Evidence]]:
        answers: list[Answer] = []
        granted = bot._replace(limits=limits)
        async with (
            a_watcher() as watcher,
            housed(granted, level) as home,
            seated(granted, GAME, home.sandbox, 7, watcher) as seat,
        ):
            for number in range(1, questions + 1):
                answers += await seat.decide([Question(number, 1, GAME.examples[0])])
            return answers, seat.all_evidence()

    with nothing_left_behind():
        return trio.run(ask)


def warm_answers(source: str, questions: int = 3, manifest: str = "", level: str = LEVEL) -> list[Answer]:
    """Return what a bot answers that must have been saved as a core."""
    bot = built(folder_of(source, manifest))
    assert bot.warm, log_of(bot.sha256).read_text()[-2000:]
    return asked(level, bot, questions)[0]


@pytest.mark.parametrize("level", levels())
def test_a_global_written_in_one_move_is_invisible_in_the_next(level: str) -> None:
    source = """
        (defvar *mark* nil)
        (defparameter *table* (make-hash-table))
        (defparameter *list* (list 1 2 3))
        (defstruct thing (count 0))
        (defclass counter () ((seen :allocation :class :initform nil :accessor seen)))
        (defun marked () nil)

        (let ((counter (make-instance 'counter)) (thing (make-thing)))
          (write-line (if (or *mark* (gethash :mark *table*) (eql (first *list*) 9) (plusp (thing-count thing)) (seen counter)
                              (marked) (get 'mark 'mark) (member :mark *features*) (find-package "MARK")
                              (sb-ext:posix-getenv "MARK") (not (pathname-match-p sb-ext:*core-pathname* "/**/bot.core")))
                          "H" "S"))
          (setf *mark* t (gethash :mark *table*) t (first *list*) 9 (thing-count thing) 9 (seen counter) t
                (symbol-function 'marked) #'identity (get 'mark 'mark) t)
          (push :mark *features*)
          (make-package "MARK")
          (sb-alien:alien-funcall
           (sb-alien:extern-alien "setenv" (function sb-alien:int sb-alien:c-string sb-alien:c-string sb-alien:int))
           "MARK" "1" 1))
        (dolist (path '("bot.core" "/bot/bot.core"))
          (ignore-errors (with-open-file (core path :direction :output :if-exists :append) (write-line "mark" core))))
        """
    answers = warm_answers(source, level=level)

    assert answers == [STANDS] * 3


FACTS = """
    (defun facts ()
      (list sb-ext:*posix-argv* sb-ext:*runtime-pathname* *load-truename* *default-pathname-defaults* (user-homedir-pathname)
            (sb-ext:posix-environ) *package* *features* *modules* *gensym-counter* *print-pretty* *read-default-float-format*
            (random 1000000) (random 1d0 (make-random-state nil)) (sb-ext:dynamic-space-size)
            (sb-ext:bytes-consed-between-gcs) (read-line *standard-input* nil :end) sb-ext:*evaluator-mode*
            (stream-external-format *standard-output*) (sb-int:get-floating-point-modes) sb-ext:*invoke-debugger-hook*
            sb-ext:*init-hooks* sb-ext:*exit-hooks* (length (sb-thread:list-all-threads)) (sb-int:sbcl-homedir-pathname)
            sb-c::*policy* (< (get-internal-real-time) internal-time-units-per-second)))
    (declaim (optimize (safety 3)))

    (format *error-output* "~a~%" (remove #\\Newline (prin1-to-string (facts))))
    (sb-ext:exit :code 3)
"""


def test_a_warm_start_is_a_start() -> None:
    bot = built(folder_of(FACTS, 'heap = "64 MiB"\n'))
    assert bot.warm

    told = [asked(LEVEL, start, 1)[1][0] for start in (bot._replace(warm=()), bot)]

    cold, warm = (piece.stderr.decode() for piece in told)
    assert cold.startswith('(("/usr/bin/sbcl" "21"') and "CROUPIER_SEED=7" in cold and len(cold) < 2000
    assert warm == cold.replace("bot.fasl", "bot-rest.fasl")
    assert {piece.kind for piece in told} == {FaultKind.CRASH}


def test_what_looks_at_the_world_looks_at_every_start() -> None:
    source = """
        (defvar *seed* (parse-integer (sb-ext:posix-getenv "CROUPIER_SEED")))
        (defvar *state* (make-random-state t))
        (format t "B ~d~a~%" (1+ (random 1000000 *state*)) *seed*)
    """
    said = [answer.n for answer in warm_answers(source, 4) if isinstance(answer, Move)]

    assert len(set(said)) == 4 and {number % 10 for number in said} == {7}


SAVED = """#!/usr/bin/sbcl --script
    (require :sb-posix)
    (eval-when (:compile-toplevel :load-toplevel :execute) (require "sb-md5") (defun twice (n) (* 2 n)))
    (defpackage "BOT" (:use "COMMON-LISP"))
    (in-package "BOT")
    (declaim (optimize (speed 1)) (inline plus))
    (defconstant +goal+ #.(cl-user::twice 10))
    (defparameter *goals* (list +goal+ (1+ +goal+)))
    (defvar *cards* (make-array (length *goals*) :initial-element (first *goals*)))
    (defvar *later*)
    (deftype points () '(integer 0 31))
    (defmacro doubled (form) `(cl-user::twice ,form))
    (define-condition lost (error) ((how :initarg :how :reader how)))
    (defstruct (card (:constructor card (points))) points)
    (defclass hand () ((cards :initarg :cards :accessor cards)))
    (defgeneric worth (thing))
    (defmethod worth ((thing (eql 'nothing))) 0)
    (defmethod worth :around ((thing hand)) (call-next-method))
    (defmethod worth ((thing hand)) (reduce #'+ (cards thing) :key #'card-points))
    (defmethod print-object ((thing hand) stream) (format stream "~d" (worth thing)))
    (progn (defun plus (a b) (+ a b)))

    (defvar *hand* (make-instance 'hand :cards (list (card 3) (card 4))))
    (defun rest-of-it () (doubled (plus 1 2)))
    (handler-case (error 'lost :how (format nil "~a" *hand*))
      (lost (reason)
        (assert (plusp (sb-posix:getpid)))
        (assert (equalp (sb-md5:md5sum-string "a") (sb-md5:md5sum-string "a")))
        (format t "B ~a~a~a~a~%" (how reason) (rest-of-it) (aref *cards* 1) (worth 'nothing))))
"""


@pytest.mark.long
def test_all_kinds_of_definitions_are_in_the_core_and_the_rest_is_not() -> None:
    bot = built(folder_of(SAVED))
    assert bot.warm

    assert asked(LEVEL, bot, 2)[0] == [Move("B", 76200)] * 2
    lasting, rest = (Path(bot.folder, f"bot-{part}.fasl").read_bytes() for part in ("core", "rest"))
    assert b"WORTH" in lasting and b"TWICE" in lasting and b"REST-OF-IT" not in lasting
    assert b"REST-OF-IT" in rest and b"DEFSTRUCT" not in rest


LASTING = """
    (defvar *nothing*)
    (defparameter *cards* (list "KJA" #\\K 'king :queen 10 1/2 (vector 1 (1+ 2)) #(1 2) #'car (lambda () (random 9))))
    (defparameter *same* *cards*)
    (defconstant +chips+ (expt 10 3))
    (defvar *table* (make-hash-table :test 'equal :size +chips+))
    (defun own (n) (random n))
    (defun (setf own) (new old) (list new old))
    (defmethod own-too ((n (eql 1)) &optional (m (random 9))) m)
    (defmethod print-object ((thing own-thing) stream) (princ 1 stream))
    (defstruct thing (drawn (random 9)))
    (eval-when (:compile-toplevel :load-toplevel :execute) (defun early () 1))
    (require :sb-posix)
"""

TRANSIENT = """
    (write-line "S")
    (main)
    *cards*
    "S"
    (defparameter *file* (open "bot.lisp"))
    (defparameter *when* (get-universal-time))
    (defparameter *chance* (random 10))
    (defparameter *state* (make-random-state t))
    (defvar *seed* (sb-ext:posix-getenv "CROUPIER_SEED"))
    (defvar *argv* (copy-list sb-ext:*posix-argv*))
    (defvar *last* (first (last sb-ext:*posix-argv*)))
    (defvar *own* (own 1))
    (defvar *each* (list (vector (own 1))))
    (defvar *thing* (make-thing))
    (defvar *mapped* (mapcar #'own (list 1)))
    (defvar *read* #.(quote (read)))
    (defparameter *print-base* 10)
    (defparameter *features* (list))
    (defun drawn () (load-time-value (random 9)))
    (defmacro drawn () `(load-time-value (random 9)))
    (defmacro drawn () `(list ,(list 1 `#((load-time-value (random ,9))))))
    (defun-too early () 1)
    (setf (get 'a 'b) 1)
    (setq *random-state* nil)
    (defclass one () () (:metaclass standard-class))
    (defgeneric two (x) (:method-class own-method))
    (defmethod three ((x (eql (read)))) 1)
    (defmethod initialize-instance :after ((class standard-class) &key) (print class))
    (eval-when (:load-toplevel :execute) (print 1))
    (eval-when (:compile-toplevel) (print 1))
    (progn (print 1))
    (progn (in-package "KEYWORD"))
    (require "./own")
    (require :asdf)
    (load "own.lisp")
    (unless (fboundp 'early) (defun early () 1))
    (let ((seen 0)) (defun count-up () (incf seen)))
    (defun nothing . 1)
    (defvar)
"""


def test_what_may_do_something_is_not_saved() -> None:
    tell = f"""
        (let ((forms (make-string-input-stream {quoted(LASTING + TRANSIENT)}))
              (*package* (find-package "COMMON-LISP-USER")))
          (loop for form = (read forms nil forms)
                until (eq form forms)
                do (format t "~&is ~:[transient~;lasting~] ~s~%" (ignore-errors (lasting-p form)) form)))
    """
    command = sbcl(f"(load (make-string-input-stream {quoted(PARTING.read_text() + tell)}))")

    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    lines = [line for line in told if line.startswith("is ")]
    count = len(LASTING.strip().splitlines())
    assert not [line for line in lines[:count] if not line.startswith("is lasting")]
    assert not [line for line in lines[count:] if not line.startswith("is transient")]
    assert len(lines) == count + len(TRANSIENT.strip().splitlines())


@pytest.mark.long
def test_warm_answers_that_are_not_the_cold_ones_are_refused() -> None:
    source = '(write-line (if (search "bot" (namestring sb-ext:*core-pathname*)) "H" "S"))\n'
    spec = find(folder_of(source))

    with pytest.raises(Refused) as refused:
        trio.run(ready, [spec], GAME, AMPLE, LEVEL)

    assert [problem.code for problem in refused.value.problems] == ["B039"]
    assert refused.value.problems[0].evidence.endswith("\ncold: S 0\nwarm: H 0")
    assert "saved core" in refused.value.problems[0].message
    report, _ = trio.run(checked, spec, GAME, LEVEL, AMPLE)
    assert not report.accepted and report.problems[0].code == "B039"


@pytest.mark.long
def test_check_says_that_a_bot_is_the_same_warm() -> None:
    report, bot = trio.run(checked, find(folder_of('(write-line "S")\n')), GAME, LEVEL, AMPLE)

    assert report.accepted and bot and bot.warm
    assert "answers as it does cold" in report.text()


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "manifest", "why"),
    [
        ('(defun main () (write-line "S"))\n(setf *undefined* 1)\n(main)\n', "", "no core of it could be saved: "),
        ('(write-line "S")\n', 'compiler = "ecl"\n', "only a script of SBCL"),
        ('(write-line "S")\n', 'build = ["true"]\n', "only a script of SBCL"),
        (
            '(loop while (read-line nil nil) do (write-line "S") (finish-output))',
            'protocol = "lines"\n',
            "asked by argv",
        ),
    ],
)
def test_check_says_why_a_bot_starts_cold(source: str, manifest: str, why: str) -> None:
    report, bot = trio.run(checked, find(folder_of(source, manifest)), GAME, LEVEL, AMPLE)

    assert report.accepted and bot and not bot.warm
    assert "starts cold: " in report.text() and why in report.text()
    assert not Path(bot.folder, "bot.core").exists()


WHILE_SAVED = '(eval-when (:compile-toplevel) (when (find-package "CROUPIER") {}))\n(write-line "S")\n'
RUN = '(sb-ext:run-program "/bin/sh" (list "-c" "{}"))'


@pytest.mark.long
@pytest.mark.parametrize(
    ("attack", "saved"),
    [
        ("(loop)", False),
        (RUN.format("mkdir -p bot.core/bot.core"), False),
        (RUN.format("mkfifo bot.core"), True),  # SBCL removes what is in its way
        (RUN.format("ln -s /etc/passwd bot.core"), True),
        (RUN.format("ln -s bot.lisp bot.core"), True),
        (RUN.format("setsid sleep 1000 & (sleep 1; echo no > bot.core) &"), True),
    ],
)
def test_who_attacks_the_saving_of_its_core_harms_only_itself(
    attack: str, saved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "ARCHIVING", building.ARCHIVING if saved else 2.0)
    spec = find(folder_of(WHILE_SAVED.format(attack)))

    with nothing_left_behind():
        bot = trio.run(build, spec._replace(game="cardshark"), LEVEL)

    assert bool(bot.warm) == saved
    assert asked(LEVEL, bot, 2)[0] == [STANDS] * 2
    assert not [
        path for path in Path(bot.folder).rglob("*") if not (path.is_dir() or path.is_file()) or path.is_symlink()
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    "attack", ["(sb-ext:exit :code 0 :abort t)", RUN.format("ln -s bot.core bot.fasl; kill -9 $PPID")]
)
def test_who_breaks_off_the_saving_of_its_core_is_cold_or_refused(attack: str) -> None:
    spec = find(folder_of(WHILE_SAVED.format(attack)))

    with nothing_left_behind():
        try:
            (bot,) = trio.run(ready, [spec], GAME, AMPLE, LEVEL)
            problems = []
        except Refused as refused:
            problems = [problem.code for problem in refused.problems]

    assert problems == ["B039"] or not bot.warm


@pytest.mark.long
def test_who_fills_the_disk_while_its_core_is_saved_is_refused() -> None:
    attack = RUN.format("i=0; while :; do head -c 100000000 /dev/zero > f$i; i=$((i+1)); done")

    with nothing_left_behind(), pytest.raises(Refused) as refused:
        built(folder_of(WHILE_SAVED.format(attack)))

    assert [problem.code for problem in refused.value.problems] == ["B010"]
    assert not list((CACHE / "bots").glob("making-*"))


@pytest.mark.long
@pytest.mark.parametrize("size", ["200000000", "2000000000"])
def test_what_is_too_large_for_a_core_starts_cold(size: str) -> None:
    source = f'(defvar *much* (make-array {size} :element-type \'(unsigned-byte 8)))\n(write-line "S")\n'
    bot = built(folder_of(source))

    assert not bot.warm and not Path(bot.folder, "bot.core").exists()


@pytest.mark.long
def test_a_core_that_is_handed_in_is_not_started() -> None:
    source = '(write-line "S")\n'
    bot = built(
        folder_of(source, **{"bot.core": "no core", "bot-rest.fasl": "none", "bot-rest.lisp": '(write-line "H")'})
    )

    assert not bot.warm and asked(LEVEL, bot, 1)[0] == [STANDS]


@pytest.mark.long
def test_a_small_limit_of_memory_holds_a_warm_bot() -> None:
    source = '(defun answer () (write-line (if (plusp (length (make-array 1000000))) "S" "H")))\n(answer)\n'
    bot = built(folder_of(source, 'heap = "64 MiB"\n'))
    assert bot.warm

    assert asked(LEVEL, bot, 3, AMPLE._replace(memory=128 * MIB))[0] == [STANDS] * 3


@pytest.mark.long
@pytest.mark.parametrize(
    ("form", "kind", "limits"),
    [
        ("(loop)", FaultKind.CPU, AMPLE._replace(cpu=0.3)),
        ("(sleep 9)", FaultKind.TIMEOUT, AMPLE._replace(move=0.5)),
        ('(error "no")', FaultKind.CRASH, AMPLE),
        ("(sb-ext:exit)", FaultKind.EXIT, AMPLE),
        ('(loop (write-line "S"))', FaultKind.FLOOD, AMPLE),
    ],
)
def test_a_warm_bot_is_held_to_its_limits(form: str, kind: FaultKind, limits: Limits) -> None:
    bot = built(folder_of(f"(defun act () {form})\n(act)\n"))
    assert bot.warm

    answers, evidence = asked(LEVEL, bot, 2, limits)

    assert [answer.kind for answer in answers if isinstance(answer, Fault)] == [kind] * 2, evidence


@pytest.mark.long
def test_a_script_in_a_folder_of_its_own_is_compiled_and_saved() -> None:
    folder = folder_of("", "")
    (folder / "source").mkdir(exist_ok=True)
    (folder / "source" / "play.lisp").write_text('(defun main () (write-line "S"))\n(main)\n')
    (folder / "bot.toml").write_text('language = "lisp"\nentry = "source/play.lisp"\nwarm = true\n')
    bot = built(folder)

    assert bot.argv[-1] == "source/bot.fasl" and bot.warm[-1] == "source/bot-rest.fasl"
    assert [asked(LEVEL, start, 1)[0] for start in (bot, bot._replace(warm=()))] == [[STANDS]] * 2


@pytest.mark.long
def test_a_build_that_lays_a_link_to_another_bots_core_does_not_have_it_removed(tmp_path: Path) -> None:
    for name in ("bot-core.fasl", "bot-rest.fasl"):
        (tmp_path / name).write_text("another's")
    folder = folder_of("; nothing\n")
    (folder / "source").mkdir(exist_ok=True)
    attack = RUN.format(f"mv source gone; ln -s {tmp_path} source; kill -9 $PPID")
    (folder / "source" / "play.lisp").write_text(WHILE_SAVED.format(attack))
    (folder / "bot.toml").write_text('language = "lisp"\nentry = "source/play.lisp"\nwarm = true\n')

    bot = built(folder)

    assert not bot.warm and len(list(tmp_path.iterdir())) == 2 and not list(Path(bot.folder).glob("source*"))
