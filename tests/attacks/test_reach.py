"""The judge looks at the host: what reached something outside, in every way that there is, and what did not."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from rlm_secure.errors import CellException, SessionEnded
from rlm_secure.guarantees import Guarantee
from rlm_secure.testing import judge
from rlm_secure.testing.corpus import Win
from rlm_secure.testing.session import FOREIGN, HostDied, SessionFailed
from rlm_secure.testing.target import Target
from rlm_secure.testing.verdict import Reach, Result
from tests.attacks.puppets import Puppet, Trial, Weighed, raises, says

MS_BIND = 4096
libc = ctypes.CDLL(None, use_errno=True)

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

    def binds(known):
        coded = [os.fsencode(path) for path in (tmp_path, known["inbox"])]
        assert libc.mount(*coded, None, ctypes.c_ulong(MS_BIND), None) == 0, os.strerror(ctypes.get_errno())

    with Target() as target:
        verdict = Trial(target)(binds, wins=Win.PRINTS)
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
    heavy = type("Heavy", (Weighed,), {"held": judge.BOUNDS.memory_bytes + (25 << 20)})
    verdict = tried(says(""), kind=heavy, guarantee=Guarantee.BOUNDED_MEMORY)
    assert verdict.evidence == "the session held 121 MiB more, of 96 allowed"
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
            puppet.run = says("")
        return puppet

    guarantee = Guarantee.SESSION_ISOLATION if shared else Guarantee.NO_HOST_FILES
    verdict = tried(says(""), kind=idle, guarantee=guarantee)
    assert (verdict.reach, verdict.evidence) == (Reach.REACHED, "a fresh session does not compute any more")
    assert tried(says(""), kind=idle, guarantee=guarantee, afterwards=False).held
