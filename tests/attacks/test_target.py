"""What attacks aim at: it is planted where they are told, watched without harm to who watches, and made anew."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from rlm_secure import Sandbox
from rlm_secure.environments.local import pool
from rlm_secure.environments.local.zygote import Plan, zygote
from rlm_secure.removal import remove
from rlm_secure.testing import arena, unscreened, yardstick
from rlm_secure.testing.target import Bounds, Target, _stance
from tests.emulators.base import until

FACTS = ("", Bounds())
LISTENERS = ["port", "udp", "abstract", "socket", "datagram"]


@pytest.fixture(scope="module")
def one():
    with Target() as made:
        yield made


@pytest.fixture
def target(one):
    yield one
    one.reset()


def knock(known):
    """Say something to every listener."""
    inet, unix, stream, datagram = socket.AF_INET, socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_DGRAM
    for family, kind, address in (
        (inet, stream, ("127.0.0.1", known["port"])),
        (inet, datagram, ("127.0.0.1", known["udp"])),
        (unix, stream, "\0" + known["abstract"]),
        (unix, stream, known["socket"]),
        (unix, datagram, known["datagram"]),
    ):
        with socket.socket(family, kind) as caller:
            caller.connect(address)
            caller.send(b"x")


def stray(target):
    """A process that carries the target's variable."""
    line = [sys.executable, "-S", "-c", "import time; print(flush=True); time.sleep(60)"]
    process = subprocess.Popen(line, env=target.environment, stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.read(1)
    process.stdout.close()
    return process


def ended(process):
    return process.wait(5) == -signal.SIGKILL


def test_each_secret_is_where_the_facts_say(target):
    known, secrets = target.facts(*FACTS), target.secrets
    assert Path(known["file"]).read_text() == Path(known["link"]).read_text() == secrets["file"]
    assert os.environ[known["variable"]] == secrets["variable"]
    assert os.pread(known["fd"], 100, 0).decode() == secrets["descriptor"]
    assert ctypes.string_at(known["address"], known["length"]).decode() == secrets["memory"]
    bystander = psutil.Process(known["bystander"])
    assert bystander.cmdline()[-1] == secrets["command-line"]
    assert bystander.environ()[known["variable"]] == secrets["variable"]
    assert known["host"] == os.getpid() == psutil.Process(known["bystander"]).ppid()
    assert not target.leaked(str(known)), "no fact holds a secret"
    assert target.leaked("".join(secrets.values())) == list(secrets)
    numbers = target.facts('call("getpid"); call("no_such_call")', Bounds())["numbers"]
    assert numbers["getpid"] > 0 and numbers["no_such_call"] == -1 and len(numbers) == 2


def test_what_is_said_to_listeners_is_heard_once(target):
    assert target.heard() == []
    knock(target.facts(*FACTS))
    knock(target.facts(*FACTS))
    assert sorted(target.heard()) == sorted(LISTENERS)
    assert target.heard() == []


def test_who_never_stops_talking_is_not_listened_to_for_ever(target):
    """Threads of a host that an attack owns are still there when it is listened for them."""
    done, address = threading.Event(), ("127.0.0.1", target.facts(*FACTS)["udp"])

    def talk():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
            while not done.is_set():
                caller.sendto(b"x", address)

    threads = [threading.Thread(target=talk) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(0.1)
        started = time.monotonic()
        assert target.heard() == ["udp"]
        assert time.monotonic() - started < 5
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_everything_goes_with_it():
    with Target() as target:
        known = target.facts(*FACTS)
        Path(f"/dev/shm/x{target.tag}").mkdir()
    target.close()
    assert not target.directory.exists() and target.tag not in os.environ
    assert not [path for place in ("/tmp", "/dev/shm", "/var/tmp") for path in Path(place).glob(f"*{target.tag}*")]
    assert not psutil.pid_exists(known["bystander"])
    for gone in (lambda: os.fstat(known["fd"]), lambda: socket.create_connection(("127.0.0.1", known["port"]))):
        with pytest.raises(OSError):
            gone()


def becomes(make):
    return lambda directory: ((directory / "canary").unlink(), make(directory / "canary"))


def deep(directory):
    """Deeper than any path can name."""
    held = os.open(directory / "inbox", os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("deeper", dir_fd=held)
        below = os.open("deeper", os.O_RDONLY, dir_fd=held)
        os.close(held)
        held = below
    os.close(held)


def files(count, size):
    def change(directory):
        for number in range(count):
            with (directory / "inbox" / str(number)).open("wb") as file:
                file.truncate(size)

    return change


DAMAGE = {
    "deleted": lambda directory: (directory / "canary").unlink(),
    "a symlink": becomes(lambda path: path.symlink_to("/etc/passwd")),
    "a loop": becomes(lambda path: path.symlink_to(path)),
    "a FIFO": becomes(os.mkfifo),
    "a directory": becomes(Path.mkdir),
    "same size": lambda directory: (directory / "victim").write_text("AS IT WAS\n"),
    "a mode": lambda directory: (directory / "canary").chmod(0),
    "a mode of the whole": lambda directory: directory.chmod(0o700),
    "an attribute": lambda directory: os.utime(directory / "canary", (1, 1)),
    "another name": lambda directory: os.link(directory / "victim", directory / "inbox" / "victim"),
    "no socket": lambda directory: (directory / "socket").unlink(),
    "no inbox": lambda directory: (directory / "inbox").rmdir(),
    "nothing left": remove,
    "elsewhere": lambda directory: directory.rename(f"{directory}-moved"),
    "a link to elsewhere": lambda directory: [
        directory.rename(f"{directory}-m"),
        directory.symlink_to(f"{directory}-m"),
    ],
    "a FIFO beside it": lambda directory: os.mkfifo(directory / "inbox" / "pipe"),
    "odd names": lambda directory: (directory / "inbox" / os.fsdecode(b"\xff\n\\040 ")).mkdir(),
    "deep": deep,
    "large": files(1, 16 << 20),
    "many": files(20_000, 0),
    "many that are large": files(600, 1 << 20),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_seen_without_harm_and_mended(target, kind):
    """Nobody waits for who writes to a FIFO, or keeps in memory what an attack left."""
    assert target.damage() == []
    DAMAGE[kind](target.directory)
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    assert target.damage()
    assert time.monotonic() - started < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 48 << 10, "KiB"
    target.reset()
    assert target.damage() == target.heard() == []
    known = target.facts(*FACTS)
    assert Path(known["link"]).read_text() == target.secrets["file"]
    assert [path.name for path in Path("/tmp").glob(f"*{target.tag}*")] == [target.directory.name]
    knock(known)
    assert sorted(target.heard()) == sorted(LISTENERS)


def test_what_changes_while_it_is_looked_at_stops_nobody(target):
    done, inbox = threading.Event(), target.directory / "inbox"

    def flicker():
        while not done.is_set():
            for number in range(20):
                (inbox / str(number)).mkdir()
            for number in range(20):
                (inbox / str(number)).rmdir()

    thread = threading.Thread(target=flicker)
    thread.start()
    try:
        for _ in range(200):
            target.damage()
    finally:
        done.set()
        thread.join()


def test_who_may_not_read_the_canary_any_more_still_sees_that(target):
    for name in ("canary", "inbox"):
        (target.directory / name).chmod(0)
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        with contextlib.suppress(BaseException):
            if os.getuid() == 0:
                os.setresuid(65534, 65534, 65534)
            os.write(writer, " ".join(os.path.basename(path) for path in target.damage()).encode())
        os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        assert pipe.read() == "canary inbox"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSTOP])
def test_a_bystander_that_was_hit_is_replaced(target, number):
    before = target.facts(*FACTS)["bystander"]
    os.kill(before, number)
    assert target.signalled(2)
    target.reset()
    assert not target.signalled()
    assert target.facts(*FACTS)["bystander"] != before and not psutil.pid_exists(before)


@pytest.mark.parametrize("place", ["/tmp", "/var/tmp", "/dev/shm"])
def test_files_named_for_it_are_leftovers_and_go(target, place):
    target.count_processes()
    left = Path(place) / f"x-{target.tag}-y"
    left.symlink_to("/etc/passwd")
    assert target.leftovers() == [str(left)]
    target.reset()
    assert target.leftovers() == [] and not left.is_symlink() and Path("/etc/passwd").exists()


def test_processes_are_counted_and_strays_end(target):
    target.count_processes()
    process, kept = stray(target), stray(target)
    assert target.leftovers() == ["2 processes"]
    target.end_strays(kept.pid)
    assert ended(process) and kept.poll() is None
    target.end_strays()
    assert ended(kept)
    assert not target.signalled() and target.leftovers() == []


def test_what_our_own_sessions_are_forked_from_is_no_leftover_however_late(target):
    pool.drain()
    zygote(Plan()).retire()
    target.count_processes()
    with Sandbox() as box, unscreened() as other:
        assert box.run("print(1)").stdout == other.run("print(1)").stdout == "1\n"
        [found] = target.leftovers()
        assert int(found.removesuffix(" processes")) >= 2, "the two sessions, and their checkpoints if they have any"
    assert until(pool.ready) and target.leftovers() == []


def test_what_replaced_a_process_is_a_leftover_unless_a_pool_may_have_replaced_it(target):
    without_variables = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(without_variables, env={}) as before:
        target.count_processes()
        before.kill()
    with subprocess.Popen(without_variables, env={}) as after:
        assert target.leftovers() == ["1 processes"] and target.leftovers(replaced=True) == []
        after.kill()


def test_two_beside_each_other_do_not_see_each_other(target):
    with Target() as other:
        process = stray(other)
        knock(other.facts(*FACTS))
        (other.directory / "victim").unlink()
        os.kill(other.facts(*FACTS)["bystander"], signal.SIGKILL)
        Path(f"/tmp/x{other.tag}").touch()
        assert target.heard() == target.damage() == target.leaked(str(other.secrets)) == []
        assert not target.signalled()
        assert set(target.host_environment) & {target.tag, other.tag} == {target.tag}
        target.end_strays()
        target.reset()
        assert process.poll() is None and Path(f"/tmp/x{other.tag}").exists()
        assert len(other.heard()) == len(LISTENERS) and other.damage() and other.signalled(2)
        other.end_strays()
        assert ended(process)


def test_there_is_none_outside_of_an_arena(monkeypatch):
    monkeypatch.setattr(arena, "inside", lambda: None)
    monkeypatch.setattr(arena, "_waived", False)
    before = sorted(os.listdir("/tmp"))
    with pytest.raises(arena.NotInArena, match="attacks run in an arena only"):
        Target()
    assert sorted(os.listdir("/tmp")) == before


def test_what_was_planted_goes_when_planting_fails(monkeypatch):
    before = sorted(os.listdir("/tmp"))
    monkeypatch.setattr("rlm_secure.testing.target.bystander", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Target()
    assert sorted(os.listdir("/tmp")) == before


def test_a_bystander_that_is_traced_was_hit(target):
    """Its tracer would get its signals, and could keep them."""
    pid, libc = target.facts(*FACTS)["bystander"], ctypes.CDLL(None, use_errno=True)
    assert libc.ptrace(0x4206, pid, 0, 0) == 0, os.strerror(ctypes.get_errno())  # PTRACE_SEIZE, which stops nobody
    assert target.signalled()
    target.reset()
    assert not target.signalled() and target.facts(*FACTS)["bystander"] != pid


@pytest.mark.root
def test_a_network_that_is_down_is_seen_and_mended(target):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 0))  # SIOCSIFFLAGS, and it is not up
    assert target.deaf()
    target.reset()
    assert not target.deaf() and target.heard() == []


def test_what_is_planted_anew_has_another_name(target):
    """Who waits for the old one cannot have its files lead elsewhere."""
    before = target.directory
    (before / "victim").write_text("changed")
    target.reset()
    assert target.directory != before and not before.exists()
    assert target.facts(*FACTS)["victim"] == f"{target.directory}/victim" and target.damage() == []


@pytest.mark.parametrize(
    "slow",
    [
        pytest.param(lambda pid: os.kill(pid, signal.SIGSTOP), id="stopped"),
        pytest.param(lambda pid: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)), id="idle"),
        pytest.param(lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19), id="nice"),
        pytest.param(lambda pid: os.kill(pid, signal.SIGKILL), id="killed"),
    ],
)
def test_who_holds_the_yardstick_does_not_hold_the_clock(slow):
    measure = yardstick.Yardstick()
    try:
        while not measure.given():
            time.sleep(0.01)
        slow(measure._process.pid)
        measure.given()
        before, started = measure.given(), time.monotonic()
        time.sleep(0.3)
        assert measure.given() - before == pytest.approx(time.monotonic() - started, abs=0.05)
    finally:
        measure.close()


def test_who_is_gone_is_told_from_who_waits(target):
    """A process that ends shows nothing of itself, for a moment before it is reaped as well."""
    assert _stance(1 << 22) != _stance(target.facts(*FACTS)["bystander"])


@pytest.mark.parametrize("what", ["a signal blocked", "its variables"])
def test_a_bystander_that_says_something_else_was_hit(target, what, monkeypatch):
    """Whoever may write its memory could have it ignore a signal, or hide what it was."""
    before = _stance(target.facts(*FACTS)["bystander"])
    assert target._stood == before
    at = 2 if what == "a signal blocked" else -1
    changed = (*before[:at], "other", *(before[at + 1 :] if at != -1 else ()))
    monkeypatch.setattr("rlm_secure.testing.target._stance", lambda pid: changed)
    assert target.signalled()


def test_damage_that_was_put_back_is_seen(target):
    victim = Path(target.facts(*FACTS)["victim"])
    about = victim.stat()
    victim.write_text("changed")
    victim.write_text("as it was\n")
    os.utime(victim, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert target.damage() == [str(victim)]
