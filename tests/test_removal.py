"""What removes trees: it stays in the tree, whatever somebody does to it meanwhile, and says what it could not remove.

Mounts are real, and made in a mount namespace of the test's own.
"""

from __future__ import annotations

import array
import contextlib
import errno
import fcntl
import io
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rlm_secure import removal
from rlm_secure.broker.transports import uds
from rlm_secure.removal import RemovalError, Scratch, remove

EXHAUSTIVE = os.environ.get("RLM_SECURE_EXHAUSTIVE") == "1"
RACE = 10.0 if EXHAUSTIVE else 1.0  # seconds

ROOT = Path(__file__).parents[1]
OWN_MOUNTS = ("unshare", "--user", "--map-root-user", "--mount")
KEPT = {"a": "1", "deep/b": "2"}


@pytest.fixture(params=["openat2", "mount ids"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to stay on a mount."""
    if request.param == "mount ids":
        monkeypatch.setattr(removal, "_openat2", failing(errno.ENOSYS))
    return request.param


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A directory that has to survive."""
    return plant(tmp_path / "precious", KEPT)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory that has to go, with two levels and every kind of file."""
    tree = plant(tmp_path / "tree", {"file": "", "dir/file": "", "dir/sub/file": ""})
    (tree / "empty").mkdir()
    (tree / "dangling").symlink_to("nowhere")
    os.mkfifo(tree / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tree / "socket"))
    return tree


def plant(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def intact(folder: Path) -> bool:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()} == KEPT


def failing(number: int) -> Callable[..., int]:
    def fail(*arguments: object, **options: object) -> int:
        raise OSError(number, os.strerror(number))

    return fail


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def dig(folder: Path, levels: int, name: str = "d" * 40) -> None:
    """A directory in a directory in a directory: too deep for any path."""
    folder.mkdir(exist_ok=True)
    at = os.open(folder, os.O_PATH)
    for level in range(levels):
        os.mkdir(name, dir_fd=at)
        if level % 100 == 0:
            os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
        at, above = os.open(name, os.O_PATH, dir_fd=at), at
        os.close(above)
    os.close(at)


# -- without mounts ------------------------------------------------------------------------------------------------


def test_a_tree_goes_with_every_kind_of_file(way: str, tree: Path) -> None:
    before = descriptors()
    assert remove(tree) == ()
    assert not tree.exists()
    assert descriptors() == before


@pytest.mark.parametrize("kind", ["file", "dangling", "pipe", "socket", "empty"])
def test_one_entry_goes_alone(way: str, tree: Path, kind: str) -> None:
    assert remove(str(tree / kind)) == ()
    assert not os.path.lexists(tree / kind)
    assert (tree / "dir/sub/file").exists()


@pytest.mark.parametrize("path", ["missing", "missing/below", "missing/"])
def test_what_is_missing_is_fine(tmp_path: Path, path: str) -> None:
    assert remove(f"{tmp_path}/{path}") == ()


@pytest.mark.parametrize("path", ["", "/", "//", ".", "..", "tree/.", "tree/..", "tree/../"])
def test_what_names_no_entry_is_refused(tree: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tree.parent)
    with pytest.raises(RemovalError) as caught:
        remove(path)
    assert (caught.value.errno, caught.value.filename) == (errno.EINVAL, path)
    assert (tree / "file").exists()


def test_a_path_below_a_file_is_an_error(tree: Path) -> None:
    with pytest.raises(RemovalError) as caught:
        remove(tree / "file" / "below")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOTDIR, str(tree / "file" / "below"))


@pytest.mark.parametrize("path", ["tree", "tree/", "./tree", "tree//"])
def test_a_relative_path_is_taken_from_here(tree: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tree.parent)
    assert remove(path) == ()
    assert not tree.exists()


@pytest.mark.parametrize("levels", [1, 63, 64, 65, 130, 10_000 if EXHAUSTIVE else 3_000])  # longer than any path
def test_a_tree_may_be_deep_with_few_descriptors(way: str, tmp_path: Path, levels: int) -> None:
    dig(tmp_path / "tree", levels)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 72, hard))
    try:
        assert remove(tmp_path / "tree") == ()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert os.listdir(tmp_path) == []


def test_a_deep_tree_may_be_wide_below(tmp_path: Path) -> None:
    deep = tmp_path.joinpath("tree", *["d"] * 70)
    for number in range(300):
        (deep / str(number) / "x").mkdir(parents=True)
    assert remove(tmp_path / "tree") == ()
    assert os.listdir(tmp_path) == []


def test_a_tree_may_be_wide(way: str, tmp_path: Path) -> None:
    for number in range(2000):
        (tmp_path / "tree" / str(number)).mkdir(parents=True)
        (tmp_path / "tree" / str(number) / "file").touch()
    assert remove(tmp_path / "tree") == ()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "name", [b"\xff\xfe", b"new\nline", b"-rf", b"*", b"~", b" ", b"a\\040b", b"...", "\u202e".encode(), b"n" * 255]
)
def test_any_name_goes(way: str, tmp_path: Path, name: bytes) -> None:
    tree = os.fsencode(tmp_path / "tree")
    os.makedirs(tree + b"/" + name + b"/" + name)
    Path(os.fsdecode(tree + b"/" + name + b"/file")).touch()
    assert remove(os.fsdecode(tree + b"/" + name)) == ()
    assert os.listdir(tree) == []


def test_links_go_and_what_they_lead_to_stays(way: str, tree: Path, precious: Path) -> None:
    (tree / "link").symlink_to(precious)
    (tree / "dir" / "relative").symlink_to("../../precious")
    (tree / "dir" / "up").symlink_to("..")
    (tree / "magic").symlink_to("/proc/self/cwd")
    os.link(precious / "a", tree / "hard")
    assert remove(tree) == ()
    assert not tree.exists()
    assert intact(precious)


def test_a_path_that_is_a_link_is_removed_as_a_link(precious: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(precious)
    assert remove(f"{tmp_path}/link/") == ()
    assert not os.path.lexists(tmp_path / "link")
    assert intact(precious)


def test_directories_that_are_closed_to_us_are_opened_if_they_are_ours(way: str, tree: Path) -> None:
    def close() -> None:
        for folder in (tree / "dir" / "sub", tree / "dir", tree):
            folder.chmod(0)

    if os.geteuid():
        close()
        assert remove(tree) == ()
        return
    with Scratch(dir="/tmp") as scratch:  # pytest's own directories are closed to other users
        tree = tree.rename(scratch / "tree") if tree.stat().st_dev == scratch.stat().st_dev else plant(scratch, KEPT)
        for path in (scratch, *scratch.rglob("*")):
            os.chown(path, 65534, 65534, follow_symlinks=False)
        close()
        assert as_nobody(lambda: remove(tree)) == "()"
        assert os.listdir(scratch) == []


@pytest.mark.root
def test_what_is_not_ours_is_named_and_stays(way: str, precious: Path) -> None:
    with Scratch(dir="/tmp") as scratch:
        os.chown(scratch, 65534, 65534)
        plant(scratch / "tree", {"root's/file": ""})
        os.chown(scratch / "tree", 65534, 65534)
        (scratch / "tree" / "root's too").mkdir()  # empty: may go, whoever owns it
        assert as_nobody(lambda: remove(scratch / "tree")) == f"EACCES {scratch}/tree/root's/file"
        assert os.listdir(scratch / "tree") == ["root's"]


@pytest.mark.root
def test_a_tree_in_a_directory_of_others_is_emptied_before_the_error(way: str, precious: Path) -> None:
    with Scratch(dir="/tmp") as scratch:
        scratch.chmod(0o755)
        plant(scratch / "tree", {"file": ""})
        os.chown(scratch / "tree", 65534, 65534)
        assert as_nobody(lambda: remove(scratch / "tree")) == f"EACCES {scratch}/tree"
        assert os.listdir(scratch / "tree") == []


def as_nobody(work: Callable[[], object]) -> str:
    """What `work` returns, or the error, as uid 65534."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        said = "it broke"
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            said = repr(work())
        except RemovalError as error:
            said = f"{errno.errorcode[error.errno]} {error.filename}"
        except BaseException as error:
            said = repr(error)
        finally:
            os.write(writer, said.encode())
            os._exit(0)
    os.close(writer)
    with open(reader) as answer:
        said = answer.read()
    os.waitpid(pid, 0)
    return said


@contextlib.contextmanager
def immutable(path: Path) -> Iterator[None]:
    """chattr +i."""
    get, put, flag = 0x80086601, 0x40086602, 0x10
    descriptor = os.open(path, os.O_RDONLY)
    flags = array.array("L", [0])
    fcntl.ioctl(descriptor, get, flags)
    fcntl.ioctl(descriptor, put, array.array("L", [flags[0] | flag]))
    try:
        yield
    finally:
        fcntl.ioctl(descriptor, put, flags)
        os.close(descriptor)


@pytest.mark.root
@pytest.mark.parametrize("name", ["file", "dir/sub/file", "dir/sub", "dir"])
def test_what_is_immutable_is_named_and_all_else_goes(way: str, tree: Path, name: str) -> None:
    before = descriptors()
    with immutable(tree / name):
        with pytest.raises(RemovalError, match="not permitted") as caught:
            remove(tree)
        left = {str(path.relative_to(tree)) for path in tree.rglob("*")}
    assert caught.value.errno == errno.EPERM
    assert Path(caught.value.filename).is_relative_to(tree / name)
    inside = {"file": set(), "dir/sub/file": set(), "dir/sub": {"dir/sub/file"}, "dir": {"dir/file", "dir/sub"}}
    assert left == {name, *(str(each) for each in Path(name).parents if each.name), *inside[name]}
    assert descriptors() == before
    assert remove(tree) == ()


def test_the_first_of_several_failures_is_named_and_the_others_are_counted(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = os.unlink

    def stubborn(name: str, *, dir_fd: int) -> None:
        unlink(name, dir_fd=dir_fd) if name != "file" else failing(errno.EIO)()

    monkeypatch.setattr(os, "unlink", stubborn)
    with pytest.raises(RemovalError, match=r"error \(and 2 more cannot be removed\): '.*/file'") as caught:
        remove(tree)
    assert isinstance(caught.value.__cause__, OSError)
    monkeypatch.undo()
    assert sorted(str(path.relative_to(tree)) for path in tree.rglob("*")) == [
        "dir", "dir/file", "dir/sub", "dir/sub/file", "file",
    ]  # fmt: skip


def test_a_failure_deep_down_is_named_by_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unlink = os.unlink

    def stubborn(name: str, *, dir_fd: int) -> None:
        unlink(name, dir_fd=dir_fd) if name != "file" else failing(errno.EIO)()

    deep = tmp_path.joinpath("tree", *"abcdefghij" * 20)
    plant(deep, {"file": ""})
    monkeypatch.setattr(os, "unlink", stubborn)
    with pytest.raises(RemovalError) as caught:
        remove(tmp_path / "tree")
    assert caught.value.filename == str(deep / "file")
    monkeypatch.undo()
    assert remove(tmp_path / "tree") == ()


# -- others who are at work in the tree ----------------------------------------------------------------------------


def test_what_appears_meanwhile_goes_too(way: str, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rmdir, left = os.rmdir, [20]

    def late(name: str, *, dir_fd: int) -> None:
        if left[0]:
            left[0] -= 1
            plant(tree / "dir", {f"new{left[0]}/file": ""})
        rmdir(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", late)
    assert remove(tree) == ()
    assert not tree.exists()


def test_a_directory_that_fills_for_ever_is_given_up(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rmdir = os.rmdir

    def full(name: str, *, dir_fd: int) -> None:
        if name == "sub":
            plant(tree / "dir" / "sub", {"again": ""})
        rmdir(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", full)
    monkeypatch.setattr(removal, "_RELISTINGS", 50)
    before = descriptors()
    with pytest.raises(RemovalError, match="again and again") as caught:
        remove(tree)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOTEMPTY, str(tree / "dir" / "sub"))
    assert descriptors() == before
    assert sorted(path.name for path in tree.rglob("*")) == ["again", "dir", "sub"]


def test_a_tree_that_grows_for_ever_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dig(tmp_path / "tree", 400, "d")
    monkeypatch.setattr(removal, "_DEEPEST", 200)
    before = descriptors()
    with pytest.raises(RemovalError, match="too deep") as caught:
        remove(tmp_path / "tree")
    assert caught.value.errno == errno.ELOOP
    assert descriptors() == before
    assert remove(tmp_path / "tree") == (), "the next call starts where this one ended"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("becomes", ["link", "file", "nothing", "directory"])
def test_a_directory_that_becomes_something_else_before_it_is_opened(
    way: str, tree: Path, precious: Path, monkeypatch: pytest.MonkeyPatch, becomes: str
) -> None:
    opened, done = removal._open_directory, []

    def swap(parent: int, name: str) -> int:
        if name == "dir" and not done:
            done.append((tree / "dir").rename(tree / "was dir"))
            if becomes == "link":
                (tree / "dir").symlink_to(precious)
            elif becomes == "file":
                (tree / "dir").touch()
            elif becomes == "directory":
                plant(tree / "dir", {"other/file": ""})
        return opened(parent, name)

    monkeypatch.setattr(removal, "_open_directory", swap)
    assert remove(tree) == ()
    assert done
    assert not tree.exists()
    assert intact(precious)


def test_a_directory_that_is_moved_away_once_it_is_open_takes_nobody_along(
    way: str, tree: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its entries go, because they were in the tree; what is beside its new place stays."""
    listed, done = os.listdir, []

    def move(descriptor: int) -> list[str]:
        names = listed(descriptor)
        if "sub" in names and not done:
            done.append((tree / "dir").rename(precious / "moved"))
        return names

    monkeypatch.setattr(os, "listdir", move)
    assert remove(tree) == ()
    monkeypatch.undo()
    assert done
    assert intact(precious)
    assert os.listdir(precious / "moved") == []
    assert not tree.exists()


SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
tree = os.fsencode(sys.argv[1])
parent = os.getppid()
while os.getppid() == parent:  # RENAME_EXCHANGE: at no time is nothing there
    libc.renameat2(-100, tree + b"/x", -100, tree + b"/y", 2)
"""


def test_a_racer_who_swaps_directories_for_links_gains_nothing(way: str, tmp_path: Path, precious: Path) -> None:
    tree = tmp_path / "tree"
    racer = subprocess.Popen([sys.executable, "-I", "-c", SWAPPER, str(tree)])
    try:
        rounds, until = 0, time.monotonic() + RACE
        while time.monotonic() < until:
            plant(tree / "x", {f"{number}/file": "" for number in range(3)})
            with contextlib.suppress(FileExistsError):
                (tree / "y").symlink_to(precious)
            with contextlib.suppress(RemovalError):
                remove(tree)
            assert intact(precious)
            rounds += 1
    finally:
        racer.kill()
        racer.wait()
    assert rounds > 10
    assert remove(tree) == ()
    assert intact(precious)


@pytest.mark.parametrize("function", ["unlink", "rmdir"])
def test_what_somebody_else_removes_first_is_fine(tree: Path, monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    real = getattr(os, function)

    def late(name: str, *, dir_fd: int) -> None:
        real(name, dir_fd=dir_fd)
        real(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, function, late)
    assert remove(tree) == ()
    assert not tree.exists()


def test_an_interrupt_leaves_no_descriptor_behind(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed, calls = os.listdir, []

    def interrupted(descriptor: int) -> list[str]:
        calls.append(descriptor)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return listed(descriptor)

    before = descriptors()
    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", interrupted)
        with pytest.raises(KeyboardInterrupt):
            remove(tree)
    assert descriptors() == before


# -- kernels and containers that lack something --------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_without_openat2_mount_ids_are_compared(tree: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    asked, real = [], removal._mount_id
    monkeypatch.setattr(removal, "_openat2", failing(number))
    monkeypatch.setattr(removal, "_mount_id", lambda descriptor: asked.append(descriptor) or real(descriptor))
    assert remove(tree) == ()
    assert len(asked) == 12, "a pin, what is opened and the parent of each, for three directories"


@pytest.mark.parametrize("said", ["pos:\t0\nflags:\t02\n", None])
def test_where_nothing_tells_mounts_apart_nothing_is_entered(
    tree: Path, monkeypatch: pytest.MonkeyPatch, said: str | None
) -> None:
    def fdinfo(path: str, encoding: str) -> io.StringIO:
        if said is None:
            raise FileNotFoundError(errno.ENOENT, "no /proc")
        return io.StringIO(said)

    monkeypatch.setattr(removal, "_openat2", failing(errno.ENOSYS))
    monkeypatch.setattr(removal, "open", fdinfo, raising=False)
    before = descriptors()
    with pytest.raises(RemovalError, match="tells mounts apart") as caught:
        remove(tree)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOTSUP, str(tree))
    assert (tree / "dir" / "sub" / "file").exists()
    assert descriptors() == before


def test_another_error_of_openat2_is_no_reason_to_try_without(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "_openat2", failing(errno.EMFILE))
    with pytest.raises(RemovalError) as caught:
        remove(tree)
    assert caught.value.errno == errno.EMFILE


def test_without_proc_a_closed_directory_is_an_error_and_not_taken_for_gone(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "dir").chmod(0)
    monkeypatch.setattr(os.path, "lexists", lambda path: False)
    with pytest.raises(RemovalError, match="needs /proc") as caught:
        remove(tree)
    assert caught.value.filename == str(tree / "dir")


def test_busy_for_another_reason_than_a_mount_is_an_error(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "unlink", failing(errno.EBUSY))
    with pytest.raises(RemovalError) as caught:
        remove(tree)
    assert (caught.value.errno, caught.value.filename) == (errno.EBUSY, str(tree))


# -- mounts --------------------------------------------------------------------------------------------------------

PRELUDE = """
import ctypes, errno, os, shutil, subprocess, sys, threading
from pathlib import Path
from rlm_secure import removal
from rlm_secure.broker.transports import uds
from rlm_secure.removal import RemovalError, Scratch, remove

assert os.readlink("/proc/self/ns/mnt") != sys.argv[1], "these mounts would be everybody's"
HERE, TREE, PRECIOUS = Path(sys.argv[2]), Path(sys.argv[2], "tree"), Path(sys.argv[2], "precious")

def absent(*arguments):
    raise OSError(errno.ENOSYS, "no openat2")

if sys.argv[3] == "mount ids":
    removal._openat2 = absent

def mount(*arguments):
    subprocess.run(["mount", "-n", *map(str, arguments)], check=True)

def bind(target, source=PRECIOUS):
    mount("--bind", source, target)

def tmpfs(target, *options):
    mount("-t", "tmpfs", *options, "none", target)

def mounts():
    return [line.split()[4] for line in open("/proc/self/mountinfo") if line.split()[4].startswith(str(HERE))]

def fails(path=TREE):
    try:
        remove(path)
    except RemovalError as error:
        return error
    raise AssertionError("it was removed")
"""


@pytest.fixture
def mounting(way: str, tree: Path, precious: Path) -> Callable[..., None]:
    """Runs code in a mount namespace of its own; afterwards what is precious is intact."""

    def run(code: str, *wrapper: str) -> None:
        own = os.readlink("/proc/self/ns/mnt")
        command = [*OWN_MOUNTS, *wrapper, sys.executable, "-c", PRELUDE + code, own, str(tree.parent), way]
        done = subprocess.run(command, capture_output=True, text=True, timeout=150, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        assert intact(precious)
        assert str(tree.parent) not in Path("/proc/self/mountinfo").read_text()

    return run


def test_a_bind_mount_is_taken_off_and_what_it_shows_stays(mounting: Callable[..., None], tree: Path) -> None:
    mounting("""
bind(TREE / "dir" / "sub")
assert os.stat(TREE / "dir" / "sub").st_dev == os.stat(TREE).st_dev, "a device number tells nothing"
assert remove(TREE) == (f"{TREE}/dir/sub",)
assert not TREE.exists() and mounts() == []
""")
    assert not tree.exists()


def test_a_removal_that_walks_by_path_would_lose_it(tree: Path, precious: Path) -> None:
    """The control: what the standard library does with the same mount."""
    code = 'bind(TREE / "dir" / "sub")\nshutil.rmtree(TREE, onerror=lambda *_: None)'
    own = os.readlink("/proc/self/ns/mnt")
    command = [*OWN_MOUNTS, sys.executable, "-c", PRELUDE + code, own, str(tree.parent), "openat2"]
    subprocess.run(command, check=True, cwd=ROOT, timeout=60)
    assert os.listdir(precious) == []


CASES = {
    "the root of the machine, with all that is mounted below it": """
mount("--rbind", "/", TREE / "dir")
assert remove(TREE) == (f"{TREE}/dir",)
assert Path("/proc/self").exists() and Path("/dev/null").exists()
""",
    "the directory that holds the tree": """
bind(TREE / "dir", HERE)
assert remove(TREE) == (f"{TREE}/dir",)
assert sorted(os.listdir(HERE)) == ["precious"]
""",
    "a file system of its own": """
tmpfs(TREE / "dir")
(TREE / "dir" / "in it").mkdir()
assert remove(TREE) == (f"{TREE}/dir",)
""",
    "one that is read-only": """
tmpfs(TREE / "dir", "-o", "ro")
assert remove(TREE) == (f"{TREE}/dir",)
""",
    "one that is in use": """
tmpfs(TREE / "dir")
held = open(TREE / "dir" / "held", "w")
os.chdir(TREE / "dir")
assert remove(TREE) == (f"{TREE}/dir",)
held.write("still there")
held.flush()
""",
    "many over one another": """
for number in range(20):
    bind(TREE / "dir") if number % 2 else tmpfs(TREE / "dir")
assert remove(TREE) == (f"{TREE}/dir",)
""",
    "on an empty directory": """
bind(TREE / "empty")
assert remove(TREE) == (f"{TREE}/empty",)
""",
    "on a file": """
bind(TREE / "dir" / "file", PRECIOUS / "a")
assert remove(TREE) == (f"{TREE}/dir/file",)
""",
    "on a socket, a pipe": """
bind(TREE / "socket", PRECIOUS / "a")
bind(TREE / "pipe", "/dev/null")
assert sorted(remove(TREE)) == [f"{TREE}/pipe", f"{TREE}/socket"]
""",
    "on the path itself": """
bind(TREE)
assert remove(TREE) == (str(TREE),)
""",
    "on the path itself, of itself": """
bind(TREE, TREE)
assert remove(TREE) == (str(TREE),)
""",
    "on the path itself, a file": """
bind(TREE / "file", PRECIOUS / "a")
bind(TREE / "file", PRECIOUS / "a")
assert remove(TREE / "file") == (f"{TREE}/file",)
assert (TREE / "dir").exists()
""",
    "a mount in a mount": """
tmpfs(TREE / "dir")
(TREE / "dir" / "inner").mkdir()
bind(TREE / "dir" / "inner")
assert remove(TREE) == (f"{TREE}/dir",)
""",
    "a mount that hides a mount": """
bind(TREE / "dir" / "sub")
tmpfs(TREE / "dir")
assert remove(TREE) == (f"{TREE}/dir", f"{TREE}/dir/sub")
""",
    "names that a mount table escapes": r"""
for name in (" \t\n\\040", "\udcff\udcfe"):
    (TREE / name).mkdir()
    bind(TREE / name)
assert sorted(remove(TREE)) == sorted((f"{TREE}/ \t\n\\040", f"{TREE}/\udcff\udcfe"))
""",
    "deeper than the descriptors that are held": """
deep = TREE.joinpath(*"abcdefgh" * 20)
deep.mkdir(parents=True)
bind(deep)
assert remove(TREE) == (str(deep),)
""",
    "a directory that is closed": """
tmpfs(TREE / "dir", "-o", "mode=000")
(TREE / "empty").chmod(0)
assert remove(TREE) == (f"{TREE}/dir",)
""",
    "a path through a link": """
(HERE / "link").symlink_to(HERE)
bind(TREE / "dir")
assert remove(HERE / "link" / "tree") == (f"{HERE}/link/tree/dir",)
""",
    "a directory that is mounted elsewhere too": """
bind(PRECIOUS / "deep", TREE / "dir")
assert remove(TREE) == ()
assert os.listdir(PRECIOUS / "deep") == [], "what was the tree's own has gone under that name as well"
subprocess.run(["umount", PRECIOUS / "deep"], check=True)
""",
    "just before the directory is opened": """
opened, done = removal._open_directory, []

def late(parent, name):
    if name == "dir" and not done:
        done.append(bind(TREE / "dir"))
    return opened(parent, name)

removal._open_directory = late
assert remove(TREE) == (f"{TREE}/dir",) and done
""",
    "just before a deep directory is moved up": """
TREE.joinpath(*"d" * 70).mkdir(parents=True)
rename, done = os.rename, []

def late(name, *arguments, **options):
    done.append(bind(TREE.joinpath(*"d" * 64)))
    rename(name, *arguments, **options)

os.rename = late
error = fails()
assert len(done) == 1 and error.errno == errno.EBUSY and error.filename == str(TREE.joinpath(*"d" * 64)), error
os.rename = rename
assert remove(TREE) == (str(TREE.joinpath(*"d" * 64)),)
""",
    "by Scratch": """
with Scratch(dir=HERE) as path:
    (path / "a").mkdir()
    bind(path / "a")
    scratch = path
own = Scratch(dir=HERE)
bind(own.path)
own.remove()
assert own.detached == (str(own.path),)
own.remove()
assert own.detached == (str(own.path),)
assert remove(TREE) == () and sorted(os.listdir(HERE)) == ["precious"]
""",
}


@pytest.mark.parametrize("case", CASES)
def test_mounts_are_taken_off(mounting: Callable[..., None], tree: Path, case: str) -> None:
    mounting(f"{CASES[case]}\nassert mounts() == [], mounts()")
    assert not tree.exists() or case == "on the path itself, a file"


SHARED = """
outer = HERE / "outer"
outer.mkdir()
tmpfs(outer)
mount("--make-shared", outer)
(outer / "inner").mkdir()
tmpfs(outer / "inner")
(outer / "inner" / "file").touch()
mount("--rbind", outer, TREE / "dir")
assert (TREE / "dir" / "inner" / "file").exists()
"""


def test_what_the_original_of_a_shared_mount_has_below_it_stays(mounting: Callable[..., None], tree: Path) -> None:
    mounting(f"""{SHARED}
subprocess.run(["umount", "-l", TREE / "dir"], check=True)
assert not (outer / "inner" / "file").exists(), "the control: taking a copy off takes this off as well"
""")
    (tree.parent / "outer").rmdir()
    mounting(f"""{SHARED}
assert remove(TREE) == (f"{{TREE}}/dir",)
assert (outer / "inner" / "file").exists()
""")


def test_a_racer_who_mounts_gains_nothing(mounting: Callable[..., None]) -> None:
    """So many mounts in a round: on a busy machine a mount takes longer to be taken off than to be made."""
    mounting(f"RACE = {RACE}" + """
import time
libc = ctypes.CDLL(None)
busy = True
may = threading.Semaphore(0)
aims = [(os.fsencode(source), os.fsencode(TREE / name)) for name, source in
        (("dir", PRECIOUS), ("dir/sub", PRECIOUS / "deep"), ("file", PRECIOUS / "a"))]

def race():
    while busy:
        for source, target in aims:
            if may.acquire(timeout=0.1):
                libc.mount(source, target, None, 4096, None)
                time.sleep(0.0005)

racers = [threading.Thread(target=race, daemon=True) for _ in range(2)]
for racer in racers:
    racer.start()
found, rounds, until = set(), 0, time.monotonic() + RACE
while time.monotonic() < until:
    if not os.path.lexists(TREE):
        (HERE / "new" / "dir" / "sub").mkdir(parents=True)
        (HERE / "new" / "file").touch()
        (HERE / "new").rename(TREE)
    may.release(60)
    try:
        found.update(remove(TREE))
    except RemovalError as error:
        found.update(error.detached)
    while may.acquire(blocking=False):
        pass
    assert sorted(os.listdir(PRECIOUS)) == ["a", "deep"] and (PRECIOUS / "deep" / "b").exists()
    rounds += 1
busy = False
for racer in racers:
    racer.join()
assert len(found) > 1, (found, rounds)
remove(TREE)
assert mounts() == [] and not TREE.exists()
""")


def test_more_mounts_over_one_another_than_are_tried_are_an_error(mounting: Callable[..., None]) -> None:
    mounting("""
removal._ATTEMPTS = 5
for _ in range(7):
    bind(TREE / "dir")
error = fails()
assert error.errno == errno.EBUSY and "again and again" in str(error), error
assert error.filename == f"{TREE}/dir" and error.detached == (f"{TREE}/dir",)
assert os.listdir(TREE) == ["dir"] and len(mounts()) == 2
own = Scratch(dir=HERE)
for _ in range(7):
    bind(own.path)
try:
    own.remove()
except RemovalError:
    assert own.detached == (str(own.path),)
else:
    raise AssertionError
""")


def test_a_mount_that_somebody_more_privileged_made_is_named_and_not_entered(
    mounting: Callable[..., None], tree: Path
) -> None:
    """The kernel locks such mounts: EINVAL."""
    mounting("""
if "inner" not in os.environ:
    bind(TREE / "dir" / "sub")
    bind(TREE / "empty", PRECIOUS / "deep")
    bind(TREE / "file", PRECIOUS / "a")
    inner = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, *sys.orig_argv[1:]]
    subprocess.run(inner, env={**os.environ, "inner": "1"}, check=True)
    assert len(mounts()) == 3
else:
    before = len(os.listdir("/proc/self/fd"))
    error = fails()
    assert error.errno == errno.EINVAL and "cannot be taken off" in str(error), error
    assert error.filename in (f"{TREE}/dir/sub", f"{TREE}/empty", f"{TREE}/file"), error
    assert "(and 2 more" in str(error), error
    assert error.detached == ()
    assert len(os.listdir("/proc/self/fd")) == before
    error = fails(TREE / "empty")
    assert error.errno == errno.EINVAL and error.filename == f"{TREE}/empty"
""")
    left = {"dir", "dir/sub", "dir/sub/file", "empty", "file"}
    assert {str(path.relative_to(tree)) for path in tree.rglob("*")} == left, "what is below a mount stays too"


def test_a_mount_without_the_privilege_to_take_it_off_is_named(mounting: Callable[..., None]) -> None:
    mounting("""
if "inner" not in os.environ:
    bind(TREE / "dir")
    inner = ["setpriv", "--bounding-set=-sys_admin", sys.executable, *sys.orig_argv[1:]]
    subprocess.run(inner, env={**os.environ, "inner": "1"}, check=True)
else:
    error = fails()
    assert error.errno == errno.EPERM and error.filename == f"{TREE}/dir", error
    assert os.listdir(TREE) == ["dir"]
""")


# -- Scratch, and its use ------------------------------------------------------------------------------------------


def test_a_scratch_directory_is_private_and_goes_with_what_is_in_it(tmp_path: Path) -> None:
    scratch = Scratch(prefix="mine-", dir=tmp_path)
    with scratch as path:
        assert path == scratch.path
        assert path.parent == tmp_path
        assert path.name.startswith("mine-")
        assert path.stat().st_mode & 0o777 == 0o700
        plant(path, KEPT)
    assert os.listdir(tmp_path) == []
    assert scratch.detached == ()


def test_a_scratch_directory_goes_when_the_block_raises(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Scratch(dir=tmp_path) as path:
        (path / "file").touch()
        _ = 1 / 0
    assert os.listdir(tmp_path) == []


def abandon(folder: Path, name: str) -> Path:
    """A socket directory whose host is gone."""
    private = plant(folder / f"rlm-secure-{name}", {"d/more/file": ""})
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(private / "d" / uds.SOCKET_NAME))
    return private


def test_a_sweep_removes_abandoned_socket_directories_and_nothing_else(
    precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Scratch() as folder:  # tmp_path is too long for a socket
        monkeypatch.setattr(uds, "_runtime_directory", lambda: str(folder))
        gone, alive = abandon(folder, "gone"), uds.UnixTransport({"file": b""})
        (gone / "d" / "link").symlink_to(precious)
        plant(folder / "rlm-secure-other", {"d/file": ""})
        (folder / "rlm-secure-link").symlink_to(abandon(folder, "target").rename(folder / "target"))
        before = set(os.listdir(folder)) - {gone.name}
        assert uds.sweep(older_than_seconds=60) == 0
        assert uds.sweep(older_than_seconds=0) == 1
        assert set(os.listdir(folder)) == before
        assert Path(alive.directory, "file").exists()
        plant(Path(alive.directory), {"somebody's/file": ""})
        alive.close()
        assert len(os.listdir(folder)) == len(before) - 1
    assert intact(precious)


def test_a_sweep_goes_on_after_what_cannot_be_removed_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def stubborn(path: Path) -> tuple[str, ...]:
        if path.name != "rlm-secure-b":
            return remove(path)
        raise RemovalError(errno.EPERM, "no", str(path))

    with Scratch() as folder:
        monkeypatch.setattr(uds, "_runtime_directory", lambda: str(folder))
        monkeypatch.setattr(uds, "remove", stubborn)
        for name in "abc":
            abandon(folder, name)
        with pytest.raises(RemovalError, match="rlm-secure-b"):
            uds.sweep(older_than_seconds=0)
        assert os.listdir(folder) == ["rlm-secure-b"]


#: What may still name the standard library's way, which follows mounts and hides what stays.
ALLOWED = {
    "rlm_secure/removal.py": "elsewhere than on Linux, where no session runs beside the host and nothing tells mounts apart",
    "tests/attacks/test_harm.py": "attacks on a throw-away world, and the clean-up that once walked through a mount",
    "tests/attacks/throwaway/__init__.py": "says what the next one does",
    "tests/attacks/throwaway/__main__.py": "the clean-up that once walked through a mount, in a throw-away world",
    "rlm_secure/guest/language/facades/system.py": "names of os that no cell has",
    "tests/test_removal.py": "the control, and this rule",
    "tests/local/test_seccomp_profile.py": "a program that runs inside a sandbox, to see whether the profile lets it",
}
FORBIDDEN = re.compile(r"rmtree|TemporaryDirectory|ignore_errors|removedirs")


def test_nothing_else_removes_trees() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): FORBIDDEN.findall(path.read_text(encoding="utf-8", errors="replace"))
        for folder in ("rlm_secure", "tests", "benchmarks", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    assert {name: words for name, words in found.items() if words and name not in ALLOWED} == {}
    assert [name for name in ALLOWED if not found[name]] == [], "allowed, and no longer needed"


def test_the_rule_has_teeth() -> None:
    assert FORBIDDEN.findall(f"{shutil.__name__}.rmtree(x, ignore_errors=True)") == ["rmtree", "ignore_errors"]
