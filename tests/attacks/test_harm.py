"""No attack harms the machine: what each does as root, with nothing around it, in a world that is thrown away.

Every attack runs in plain exec() in a throwaway world, which is looked at before and after: files, mounts, host name,
processes, clock and more. It may do there what its header says, and no more. The control are attacks that do harm.
"""

from __future__ import annotations

import os

import pytest

from rlm_secure.resources import sandboxes_dir
from rlm_secure.testing import corpus
from rlm_secure.testing.corpus import Attack, Harm
from tests.attacks.conftest import ATTACKS, each
from tests.attacks.throwaway import Outcome, World, battle
from tests.attacks.throwaway.manifest import Kind, changes
from tests.share import share

#: What may stay changed when an attack is over, by what its header says that it does.
ALLOWED = {
    Harm.HARMLESS: (),
    Harm.OWN_TREE: (),
    Harm.NAMESPACE: (Kind.LEFTOVERS, Kind.IPC, Kind.KEYS, Kind.NAMES),
}
HEADER = '"""Do harm.\n\nguarantee: no-host-files\nlayer: kernel\nwins: prints\noutcome: harmless\n"""\n'
#: A harmful attack -> its cell, and what is to be said of it.
HARMFUL = {
    "deletes": ('os.unlink("/root/thesis.txt")', "files: /root/thesis.txt: gone"),
    "deletes-a-tree": (
        'import shutil\nshutil.rmtree("/home/a-neighbour")',
        "files: /home/a-neighbour/photos/one.jpg: gone",
    ),
    "leaves-a-directory-of-its-target-elsewhere": ('os.mkdir("/root/" + TARGET["tag"])', "files: /root/rlmsecure"),
    "appends": ('with open("/srv/database", "a") as file: file.write("more")', "files: /srv/database: modified was"),
    "writes-and-sets-the-times-back": (
        """about = os.stat("/srv/database")
with open("/srv/database", "r+") as file: file.write("ROWS")
os.utime("/srv/database", ns=(about.st_atime_ns, about.st_mtime_ns))""",
        "files: /srv/database: changed was",
    ),
    "changes-a-mode": ('os.chmod("/etc/shadow", 0o644)', "files: /etc/shadow: mode was '0o100600' and is '0o100644'"),
    "changes-an-owner": ('os.chown("/etc/passwd", 7, 7)', "files: /etc/passwd: owner was (0, 0) and is (7, 7)"),
    "leaves-a-file": ('open("/tmp/mine", "w").close()', "files: /tmp/mine: new"),
    "leaves-a-file-of-its-target": ('open("/dev/shm/" + TARGET["tag"], "w").close()', "leftovers: /dev/shm/rlmsecure"),
    "binds-the-root": ('call("mount", "/", TARGET["inbox"], 0, 4096, 0)', "mounted on /tmp/rlmsecure"),
    "covers": ('call("mount", "tmpfs", "/etc", "tmpfs", 0, 0)', "mounts: /etc (mount "),
    "remounts": ('call("mount", 0, "/", 0, 4096 | 32 | 1, 0)', "mounts: / (mount "),
    "unmounts": ('call("umount2", "/sys", 2)', "mounts: /sys (mount "),
    "renames-the-host": (
        'import socket\nsocket.sethostname("mine")',
        "names: host name: was 'throwaway' and is 'mine'",
    ),
    "kills": ("os.kill(DECOY, 9)", "state was 'alive' and is 'dead'"),
    "stops": ("os.kill(DECOY, 19)", "state was 'alive' and is 'stopped'"),
    "favours": ("os.setpriority(os.PRIO_PROCESS, DECOY, 7)", "nice was '0' and is '7'"),
    "leaves-a-segment": ("libc.shmget(0, 4096, 0o1600)", "ipc: shm 0 "),
    "leaves-a-queue-by-name": (
        'ctypes.CDLL("librt.so.1").mq_open(b"/mine", os.O_CREAT | os.O_RDWR, 0o600, None)',
        "files: /dev/mqueue/mine: new",
    ),
    "leaves-a-queue": ("libc.msgget(7, 0o1600)", "ipc: msg 7 "),
    "leaves-a-key": (
        "call({'x86_64': 248, 'aarch64': 217}[os.uname().machine], 'user', 'mine', b'1', 1, -4)",
        "keys: the user's keyring holds ",
    ),
    "sets-the-kernel": (
        'with open("/proc/sys/net/ipv4/ip_default_ttl", "w") as file: file.write("7")',
        "settings: /proc/sys/net/ipv4/ip_default_ttl: was",
    ),
    "ends-itself": ("os.kill(os.getpid(), 9)", "its own process: signal 9"),
}
_FIND_DECOY = """
for name in filter(str.isdigit, os.listdir("/proc")):
    with open(f"/proc/{name}/cmdline") as file:
        if "somebody is still at work" in file.read():
            DECOY = int(name)
"""
#: What needs keys in the kernel, and what needs root: an arena of others has one user, and no calls for keys.
IMPOSSIBLE = [
    *([] if os.path.exists("/proc/sys/kernel/keys") else ["leaves-a-key"]),
    *([] if os.getuid() == 0 else ["changes-an-owner", "leaves-a-key"]),
]
#: Three pushes share the attacks, and a night tries all: `python -m tests tests/attacks/test_harm.py` does so at once.
TRIED = share(ATTACKS, 3)
BIND = 'call("mount", "/", TARGET["inbox"], 0, 4096, 0)'


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return battle(TRIED)


@pytest.fixture(scope="module")
def harmful() -> dict[str, tuple[Attack, Outcome]]:
    attacks = {name: planted(name, cell) for name, (cell, _) in HARMFUL.items()}
    return {name: (attacks[name], outcome) for name, outcome in battle(attacks.values()).items()}


def planted(name: str, cell: str) -> Attack:
    return corpus.parse(name, f"{HEADER}\n{_FIND_DECOY if 'DECOY' in cell else ''}{cell}\n")


def wrong(attack: Attack, outcome: Outcome) -> list[str]:
    """What it did and its header does not say."""
    found = [f"{kind}: {text}" for kind, text in outcome.changes if kind not in ALLOWED[attack.harm]]
    found += [f"mounted on {path}" for path in outcome.mounted]
    found += [f"{kind}, cleaned up: {text}" for kind, text in outcome.cleaned if kind not in ALLOWED[attack.harm]]
    if attack.harm is Harm.HARMLESS and outcome.ended != "finished":
        found.append(f"its own process: {outcome.ended}")
    return found


@each(TRIED)
def test_it_does_no_more_than_its_header_says(attack, outcomes):
    outcome = outcomes[attack.name]
    assert wrong(attack, outcome) == [], f"{outcome.ended}: {outcome.said}"


def test_every_file_of_the_corpus_is_tried(outcomes):
    files = {path.stem for path in (sandboxes_dir() / "attacks").glob("*.py") if not path.stem.startswith("_")}
    assert files == {attack.name for attack in ATTACKS}
    assert set(outcomes) == {attack.name for attack in TRIED}


@pytest.mark.parametrize("name", [name for name in HARMFUL if name not in IMPOSSIBLE])
def test_harm_is_found(name, harmful):
    attack, outcome = harmful[name]
    found = wrong(attack, outcome)
    assert any(HARMFUL[name][1] in each for each in found), f"{found}, {outcome.ended}: {outcome.said}"


def test_an_attack_that_hangs_is_found():
    attack = planted("hangs", "while True: pass")
    with World() as world:
        assert wrong(attack, world.attempt(attack.cells, 0.5)) == ["its own process: overdue"]


def test_a_clock_that_was_set_is_found():
    """No user namespace lets its root set the clock, so this is all that can be tried."""
    assert changes({Kind.CLOCK: {"clock": 100.0}}, {Kind.CLOCK: {"clock": 100.01}}) == []
    assert changes({Kind.CLOCK: {"clock": 100.0}}, {Kind.CLOCK: {"clock": 101.0}})


@pytest.mark.parametrize("cleaned", ["by reset", "by close"])
@pytest.mark.parametrize("flags", [4096, 4096 | 16384], ids=["bind", "recursive-bind"])
def test_cleaning_up_does_not_reach_through_a_mount_of_the_root(cleaned, flags):
    """It did, and took the machine with it."""
    attack = planted("binds", BIND.replace("4096", str(flags)))
    with World() as world:
        outcome = world.attempt(attack.cells, 5.0, cleaned=cleaned)
    assert len(outcome.mounted) >= 1, outcome.said
    assert outcome.cleaned == ()


def test_cleaning_up_that_reaches_through_a_mount_is_found():
    with World() as world:
        outcome = world.attempt(planted("binds", BIND).cells, 5.0, cleaned="by rmtree")
    assert (Kind.FILES, "/root/thesis.txt: gone") in outcome.cleaned
