"""The judge: what it takes for a win, how far one got, and what says nothing. Its sessions here are puppets."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from rlm_secure.errors import CellException, CellRefused, EnvironmentUnavailable, ProtocolViolation, SessionEnded
from rlm_secure.guarantees import EnforcementReport, Guarantee, Wall
from rlm_secure.testing import judge, yardstick
from rlm_secure.testing.corpus import Attack, Harm, Layer, Win
from rlm_secure.testing.judge import FOREIGN, Claim, HostDied, HostLate, Reach, Result, SessionFailed, claims
from rlm_secure.testing.target import Target
from rlm_secure.types import REPLResult

POLICY = judge.policy("strict")
MS_BIND = 4096
libc = ctypes.CDLL(None, use_errno=True)


class Puppet:
    """A session that does what `acts` say, one for each cell: each is given what the attack knows."""

    def __init__(self, acts, environment="local"):
        self.report = EnforcementReport(environment, ())
        self._acts = list(acts)
        self.ran = []

    def run(self, code, timeout=None):
        if code.startswith("TARGET = "):
            self._known = json.loads(code.splitlines()[0].removeprefix("TARGET = "))
            return REPLResult("", "", {})
        if code == "print(6 * 7)":
            return REPLResult("42\n", "", {})
        self.ran.append(code)
        said = self._acts.pop(0)(self._known)
        return said if isinstance(said, REPLResult) else REPLResult(said or "", "", {})

    def close(self):
        pass


class Weighed(Puppet):
    """A puppet of somebody else's: it is looked at from outside."""

    held, wrote = 0, ""

    def spilled(self):
        return self.wrote

    def held_bytes(self):
        return self.held if self.ran else 0


@pytest.fixture(scope="module")
def target():
    with Target() as made:
        yield made


@pytest.fixture
def tried(target):
    """Runs one attack, whose cells do what `acts` say; the verdict, with the sessions that were opened in `.opened`."""

    def run(
        *acts,
        wins=Win.REVEALS,
        guarantee=Guarantee.NO_HOST_FILES,
        kind=Puppet,
        environment="local",
        policy=POLICY,
        **more,
    ):
        attack = Attack("any", "Any.", guarantee, Layer.BOTH, wins, Harm.HARMLESS, ("x = 1",) * len(acts))
        run.opened = []

        def open_session():
            run.opened.append(kind(acts, environment))
            return run.opened[-1]

        return judge.attempt(attack, open_session, target, policy, **more)

    yield run
    target.reset()


def says(stdout="", stderr="", **more):
    return lambda known: REPLResult(stdout, stderr, more.pop("locals", {}), **more)


def raises(error):
    def act(known):
        raise error

    return act


# -- claims -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["WON it\n", "abc\nWON it", "no newline before: WON it\nmore", "\tWON it"])
def test_a_claim_is_the_word_to_the_end_of_its_line(said):
    assert claims(2, said) == [Claim(2, "WON it")]


@pytest.mark.parametrize(
    "said", ["abcWON it", "SWONK", "WONDER", "won it", '    print("WON it")', "'WON'", r"a\nWON it", ""]
)
def test_no_claim(said):
    """Parts of words, and source that a traceback shows."""
    assert claims(1, said) == []


def test_a_long_claim_is_cut():
    assert len(claims(1, "WON" + " x" * 1000)[0].text) == 203


def test_a_claim_in_the_second_cell_counts_whatever_the_first_printed_last(tried):
    """Outputs that were glued together hid a checkpoint that leaves a process: "...doneWON" is no word."""
    verdict = tried(says("done"), says("WON a process"), wins=Win.PRINTS)
    assert (verdict.result, verdict.reach, verdict.evidence) == (Result.WON, Reach.SURFACE, "cell 2 said WON a process")


@pytest.mark.parametrize("said", [says("", "WON x"), says(locals={"a": "WON x"}), says(error=CellException("WON x")), says(final_answer="WON x")])  # fmt: skip
def test_only_what_was_printed_is_a_claim(tried, said):
    assert tried(said, wins=Win.PRINTS).held


@pytest.mark.parametrize("wins", list(Win))
@pytest.mark.parametrize("layered", [True, False])
def test_whose_word_counts(tried, wins, layered):
    verdict = tried(says("WON x"), wins=wins, layered=layered)
    counts = wins is Win.PRINTS or (wins is Win.REFLECTS and layered)
    assert verdict.result is (Result.WON if counts else Result.CONTAINED)
    assert verdict.reach is (Reach.SURFACE if counts else None)


# -- what is seen from outside ----------------------------------------------------------------------

PLACES = ("file", "variable", "descriptor", "memory", "command-line")
WAYS = {
    "stdout": lambda secret: says(f"x{secret}x"),
    "stderr": lambda secret: says("", secret),
    "locals": lambda secret: says(locals={"a": [secret]}),
    "answer": lambda secret: says(final_answer=secret),
    "error": lambda secret: says(error=CellException(f"ValueError: {secret}")),
    "exception": lambda secret: raises(SessionEnded(secret)),
    "adapter": lambda secret: raises(SessionFailed(secret)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
def test_a_secret_that_comes_out_anywhere_has_reached(tried, target, way, place):
    verdict = tried(WAYS[way](target.secrets[place]), wins=Win.PRINTS, environment=FOREIGN)
    assert (verdict.result, verdict.reach) == (Result.WON, Reach.REACHED)
    assert verdict.evidence == f"the {place} secret came out"


def knocks(family, kind, address):
    def act(known):
        with socket.socket(family, kind) as caller:
            caller.connect(address(known))
            caller.send(b"x")

    return act


UNIX, INET, STREAM, DATAGRAM = socket.AF_UNIX, socket.AF_INET, socket.SOCK_STREAM, socket.SOCK_DGRAM


def drops_a_thread(known):
    thread = threading.Thread(target=int, args=("x",), name="reader")
    thread.start()
    thread.join()


def grows(known, kept=[]):
    kept[:] = [b"x" * (200 << 20)]
    kept.clear()


REACHED = {
    "port": (knocks(INET, STREAM, lambda known: ("127.0.0.1", known["port"])), "the port listener was reached"),
    "udp": (knocks(INET, DATAGRAM, lambda known: ("127.0.0.1", known["udp"])), "the udp listener was reached"),
    "abstract": (knocks(UNIX, STREAM, lambda known: f"\0{known['abstract']}"), "the abstract listener was reached"),
    "socket": (knocks(UNIX, STREAM, lambda known: known["socket"]), "the socket listener was reached"),
    "datagram": (knocks(UNIX, DATAGRAM, lambda known: known["datagram"]), "the datagram listener was reached"),
    "new file": (lambda known: Path(known["inbox"], "new").touch(), "/inbox/new was changed"),
    "changed": (lambda known: Path(known["victim"]).write_text("AS IT WAS\n") and None, "/victim was changed"),
    "all gone": (lambda known: subprocess.check_call(["rm", "-r", known["directory"]]) and None, "/canary was changed"),
    "bystander": (lambda known: os.kill(known["bystander"], 15), "the bystander was signalled"),
    "untyped": (raises(KeyError("x")), "the host raised KeyError: 'x'"),
    "dies": (raises(HostDied("it died")), "it died"),
    "thread": (drops_a_thread, "a thread of the host died of ValueError in reader"),
    "bloat": (grows, "the host grew by"),
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("way", REACHED)
def test_what_the_host_sees_has_reached(tried, target, way):
    act, evidence = REACHED[way]
    verdict = tried(act, wins=Win.SIGNALS)
    assert (verdict.result, verdict.reach) == (Result.WON, Reach.REACHED)
    assert evidence in verdict.evidence
    target.reset()
    assert tried(says("")).held  # and the next attack is not charged with it


def test_a_reach_beats_a_surface(tried, target):
    verdict = tried(says(f"WON {target.secrets['file']}"), wins=Win.PRINTS)
    assert verdict.reach is Reach.REACHED
    assert verdict.evidence.startswith("the file secret came out; cell 1 said WON")


@pytest.mark.root
@pytest.mark.parametrize("ending", ["reset", "close"])
def test_what_was_bound_into_the_target_is_evidence_and_survives(tmp_path, ending):
    """The incident: a directory bound there by an attack was deleted with the target."""
    (tmp_path / "precious").write_text("as it was")
    attack = Attack("any", "Any.", Guarantee.NO_HOST_FILES, Layer.BOTH, Win.PRINTS, Harm.HARMLESS, ("x = 1",))

    def binds(known):
        coded = [os.fsencode(path) for path in (tmp_path, known["inbox"])]
        assert libc.mount(*coded, None, ctypes.c_ulong(MS_BIND), None) == 0, os.strerror(ctypes.get_errno())

    with Target() as target:
        verdict = judge.attempt(attack, lambda: Puppet([binds]), target, POLICY)
        assert verdict.reach is Reach.REACHED
        assert f"something was mounted on {target.directory}/inbox" in verdict.evidence
        assert str(tmp_path) not in verdict.evidence
        getattr(target, ending)()
        assert target.mounted() == []
    assert (tmp_path / "precious").read_text() == "as it was"
    assert not target.directory.exists()


@pytest.mark.parametrize("kind", ["process", "file"])
def test_what_remains_is_seen_where_the_attack_is_after_that(tried, target, kind):
    started = []

    def leaves(known):
        if kind == "file":
            Path(f"/dev/shm/{known['tag']}-left").touch()
        else:
            started.append(subprocess.Popen(["sleep", "60"]))

    try:
        verdict = tried(leaves, wins=Win.REMAINS)
        assert verdict.reach is Reach.REACHED
        assert ("-left remains" if kind == "file" else "1 processes remains") in verdict.evidence
        assert len(tried.opened) == 2  # one before, which is counted; no third: one win is enough
    finally:
        for process in started:
            process.kill()
            process.wait()


@pytest.mark.parametrize("wins", [Win.FLOODS, Win.REVEALS])
def test_floods_are_measured_where_the_attack_is_after_that(tried, wins):
    assert (tried(says("x" * (judge.BOUNDS.result_bytes + 1)), wins=wins).result is Result.WON) is (wins is Win.FLOODS)


def test_memory_of_somebody_elses_is_measured_where_it_is_to_be_bounded(tried):
    heavy = type("Heavy", (Weighed,), {"held": judge.BOUNDS.memory_bytes + (5 << 20)})
    verdict = tried(says(""), kind=heavy, guarantee=Guarantee.BOUNDED_MEMORY)
    assert verdict.evidence == "the session held 101 MiB more, of 96 allowed"
    assert tried(says(""), kind=heavy).held


def test_what_is_written_past_the_capture_is_read(tried, target):
    leaky = type("Leaky", (Weighed,), {"wrote": target.secrets["file"]})
    assert tried(says(""), kind=leaky, environment=FOREIGN).evidence == "the file secret came out"


@pytest.mark.parametrize("shared", [True, False])
def test_neighbours_that_no_longer_work_are_the_attacks_doing(tried, shared):
    """Three where sessions share what is attacked, else one. Those after an attack do not compute here."""

    def idle(acts, environment):
        puppet = Puppet(acts, environment)
        if len(tried.opened) >= 1 + 2 * shared:
            puppet.run = lambda code, timeout=None: REPLResult("", "", {})
        return puppet

    guarantee = Guarantee.SESSION_ISOLATION if shared else Guarantee.NO_HOST_FILES
    verdict = tried(says(""), kind=idle, guarantee=guarantee)
    assert (verdict.reach, verdict.evidence) == (Reach.REACHED, "a fresh session does not compute any more")
    assert tried(says(""), kind=idle, guarantee=guarantee, afterwards=False).held


def test_what_is_said_can_be_written_down(tried):
    assert tried(says("WON \ud800\x00é"), wins=Win.PRINTS).evidence == "cell 1 said WON \\ud800\x00é"


# -- defeats, and what says nothing -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "result", "wall"),
    [
        (says(""), Result.CONTAINED, None),
        (says(error=CellRefused("no", rule="import")), Result.STOPPED, Wall.LANGUAGE),
        (says(error=CellException("NameError: x")), Result.CONTAINED, None),
        (raises(ProtocolViolation("a frame too long")), Result.STOPPED, Wall.SEPARATE_PROCESS),
        (raises(SessionEnded("closed")), Result.CONTAINED, None),
    ],
)
def test_defeats(tried, act, result, wall):
    verdict = tried(act)
    assert (verdict.result, verdict.wall, verdict.reach, verdict.held) == (result, wall, None, True)


@pytest.mark.parametrize("error", [SessionFailed("no"), HostDied("no"), HostLate("no")])
@pytest.mark.parametrize("when", ["open", "prelude", "cell"])
def test_a_session_that_fails_by_itself_neither_held_nor_lost(target, error, when):
    def open_session():
        if when == "open":
            raise error
        puppet = Puppet([raises(error)], FOREIGN)
        if when == "prelude":
            puppet.run = lambda code, timeout=None: raises(error)(code)
        return puppet

    attack = Attack("any", "Any.", Guarantee.NO_HOST_FILES, Layer.BOTH, Win.PRINTS, Harm.HARMLESS, ("x = 1",))
    verdict = judge.attempt(attack, open_session, target, POLICY)
    died = isinstance(error, HostDied) and when == "cell"  # there the attack is what killed it
    assert verdict.result is (Result.WON if died else Result.ERRORED)
    assert not verdict.held


def test_a_prelude_that_raises_is_no_attempt(tried):
    def deaf(acts, environment):
        puppet = Puppet(acts, environment)
        puppet.run = says(error=CellException("TARGET is too long"))
        return puppet

    verdict = tried(says("WON"), kind=deaf, wins=Win.PRINTS)
    assert (verdict.result, verdict.evidence) == (Result.ERRORED, "it could not be told its target: TARGET is too long")


def test_an_environment_that_is_not_there_is_told_to_who_asked(tried):
    with pytest.raises(EnvironmentUnavailable):
        tried(kind=lambda acts, environment: raises(EnvironmentUnavailable("no"))(acts))


@pytest.mark.parametrize("wins", list(Win))
def test_somebody_elses_session_loses_by_being_late_only_where_time_is_attacked(tried, wins):
    verdict = tried(raises(HostLate("no answer")), wins=wins, environment=FOREIGN)
    assert verdict.result is (Result.WON if wins in (Win.OUTLASTS, Win.BREAKS) else Result.ERRORED)


@pytest.mark.parametrize("error", [SessionFailed("broken"), HostLate("no answer")])
def test_a_failure_hides_no_win_that_was_seen_before_it(tried, target, error):
    reached = tried(lambda known: Path(known["inbox"], "new").touch(), raises(error), environment=FOREIGN)
    assert (reached.reach, reached.evidence) == (Reach.REACHED, f"{target.directory}/inbox/new was changed")
    claimed = tried(says("WON x"), raises(error), environment=FOREIGN, wins=Win.PRINTS)
    assert (claimed.reach, claimed.evidence) == (Reach.SURFACE, "cell 1 said WON x")


def test_what_no_control_checked_is_not_passed_and_still_can_be_won(tried):
    lost = tried(says(""), checked=False)
    assert lost.result is Result.NOT_CHECKED and not lost.held
    assert tried(says("WON x"), wins=Win.PRINTS, checked=False).result is Result.WON


@pytest.mark.parametrize(("said", "sessions"), [("WON x", 1), ("", 2)])
def test_nothing_is_tried_twice(tried, said, sessions):
    """The second session of one that held only shows that sessions still start."""
    tried(says(said), says(""), wins=Win.PRINTS)
    assert [len(session.ran) for session in tried.opened] == [2, 0][:sessions]


# -- lateness ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("speed", "seconds", "late"),
    [(1.0, 0.1, False), (1.0, 0.8, True), (0.2, 0.8, False), (0.0, 0.8, False), (0.0, 4.0, True)],
)
def test_lateness_is_measured_by_what_the_machine_gives(tried, monkeypatch, speed, seconds, late):
    """A machine that gives a fifth of its time is waited for; one that seems to give none, MOST times as long."""
    clock = type("Clock", (), {"given": lambda self: time.monotonic() * speed})()
    monkeypatch.setattr(yardstick, "shared", lambda: clock)
    monkeypatch.setattr(judge, "_SLACK_SECONDS", 0.2)
    limits = POLICY.limits.model_copy(update={"cell_seconds": 0.1, "grace_seconds": 0.1})
    done = threading.Event()
    try:
        verdict = tried(lambda known: done.wait(seconds) and None, policy=POLICY.model_copy(update={"limits": limits}))
    finally:
        done.set()
    assert verdict.held is not late
    assert ("the host had no answer after" in verdict.evidence) is late
    with contextlib.suppress(AttributeError):
        assert verdict.seconds < 0.4 * yardstick.MOST + 1
