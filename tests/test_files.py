"""Paths that others name or change: what is not meant is not opened, and nothing waits."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rlm_secure import files
from rlm_secure.files import NotAFile, TooLarge
from rlm_secure.removal import Scratch


@contextmanager
def deep_folder(depth: int = 1_500) -> Iterator[Path]:
    """A folder with folders in folders; most programs cannot remove it."""
    with Scratch() as root:
        at = os.open(root, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir("d", dir_fd=at)
            inner = os.open("d", os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = inner
        os.close(at)
        yield root


def tree(root: Path, enter: object = None) -> list[tuple[str, str]]:
    return [(each.path, each.refused) for each in files.walk(root, enter or bool)]  # type: ignore[arg-type]


@pytest.fixture
def special(tmp_path: Path) -> dict[str, Path]:
    """One of each that is no regular file, by what it is."""
    found = {"FIFO": tmp_path / "fifo", "socket": tmp_path / "socket", "folder": tmp_path / "folder"}
    os.mkfifo(found["FIFO"])
    found["folder"].mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(found["socket"]))
    return found | {"device": Path("/dev/zero")}


class TestReading:
    def test_a_file_is_read_to_its_limit(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"12345")
        assert files.read(tmp_path / "file", 5) == b"12345"
        with pytest.raises(TooLarge, match="larger than 4 bytes"):
            files.read(tmp_path / "file", 4)

    def test_what_the_user_names_may_be_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"x")
        (tmp_path / "link").symlink_to("file")
        assert files.read(tmp_path / "link", 5) == b"x"

    @pytest.mark.parametrize("kind", ["FIFO", "socket", "folder", "device"])
    def test_what_is_no_file_is_named_and_not_waited_for(self, special: dict[str, Path], kind: str) -> None:
        with pytest.raises(NotAFile, match=f"it is a {kind}, not a regular file"):
            files.read(special[kind], 5)

    def test_below_a_folder_no_link_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "secret").write_bytes(b"secret")
        (tmp_path / "in" / "deep").mkdir(parents=True)
        (tmp_path / "in" / "deep" / "file").write_bytes(b"x")
        (tmp_path / "in" / "link").symlink_to("../out/secret")
        (tmp_path / "in" / "folder").symlink_to("../out")
        assert files.read("deep/file", 5, below=tmp_path / "in") == b"x"
        for name, wrong in (("link", "a symbolic link"), ("folder/secret", "folder in its path is a symbolic link")):
            with pytest.raises(NotAFile, match=wrong):
                files.read(name, 50, below=tmp_path / "in")

    def test_a_file_that_becomes_another_one_is_looked_at_again(
        self, special: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").write_bytes(b"x")
        about, held = os.stat(tmp_path / "file"), len(os.listdir("/proc/self/fd"))
        monkeypatch.setattr(files.os, "stat", lambda *_, **__: about)  # what it was before it was swapped
        with pytest.raises(NotAFile, match="a FIFO"):
            files.open_file(special["FIFO"])
        assert len(os.listdir("/proc/self/fd")) == held

    def test_a_key_is_its_owners_alone(self, tmp_path: Path) -> None:
        key = tmp_path / "key"
        key.write_bytes(b"k" * 40)
        for mode in (0o640, 0o604, 0o620):
            key.chmod(mode)
            with pytest.raises(NotAFile, match="open to others; make it yours alone with chmod 600"):
                files.read_private(key, 64)
        key.chmod(0o600)
        assert files.read_private(key, 64) == b"k" * 40

    @pytest.mark.root
    def test_a_key_of_another_user_is_refused(self, tmp_path: Path) -> None:
        key = tmp_path / "key"
        key.write_bytes(b"k" * 40)
        key.chmod(0o600)
        os.chown(key, 12345, 12345)
        with pytest.raises(NotAFile):
            files.read_private(key, 64)


class TestWalking:
    def test_everything_is_named_and_no_link_is_entered(self, special: dict[str, Path], tmp_path: Path) -> None:
        (tmp_path / "folder" / "inner").mkdir()
        (tmp_path / "folder" / "inner" / "x").write_text("x")
        (tmp_path / "folder" / "up").symlink_to("..")
        (tmp_path / "a").write_text("a")
        found = [("a", ""), ("fifo", "a FIFO"), ("folder/inner/x", ""), ("folder/up", "a symbolic link")]
        assert tree(tmp_path) == [*found, ("socket", "a socket")]
        assert tree(tmp_path, lambda name: name != "inner") == [*found[:2], found[3], ("socket", "a socket")]

    def test_the_root_may_be_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "root").mkdir()
        (tmp_path / "root" / "x").write_text("x")
        (tmp_path / "link").symlink_to("root")
        assert tree(tmp_path / "link") == [("x", "")]

    def test_a_folder_of_any_depth_ends(self) -> None:
        with deep_folder() as root:
            held = len(os.listdir("/proc/self/fd"))
            ((path, refused),) = tree(root)
            assert refused == "too deep" and path.count("/") == 64
            assert len(os.listdir("/proc/self/fd")) == held

    def test_folders_of_any_size_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "_ENTRIES", 5)
        for folder in "ab":
            (tmp_path / folder).mkdir()
            for name in "1234":
                (tmp_path / folder / name).write_text("")
        seen = tree(tmp_path)
        assert len(seen) == 5 and seen[-1] == ("a", "too many")

    def test_names_that_wait_are_counted_in_all_folders(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "_ENTRIES", 100)
        folder, listed = tmp_path, []
        for _ in range(10):
            for number in range(40):
                (folder / f"b{number}").write_text("")
            (folder / "a").mkdir()
            folder /= "a"
        real = files._listed
        monkeypatch.setattr(files, "_listed", lambda *given: (found := real(*given), listed.append(found[1]))[0])
        assert tree(tmp_path)[-1][1] == "too many"
        assert sum(map(len, listed)) == 101

    def test_what_a_walk_met_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "x").write_text("said")
        for entry in files.walk(tmp_path):
            with os.fdopen(entry.open()) as file:
                assert (entry.path, file.read()) == ("a/x", "said")

    def test_a_folder_that_cannot_be_listed_is_closed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(_: int) -> None:
            raise OSError(errno.EIO, "")

        before = os.listdir("/proc/self/fd")
        with monkeypatch.context() as broken:
            broken.setattr(files.os, "scandir", fails)
            with pytest.raises(OSError, match="Errno 5"):
                list(files.walk(tmp_path))
        assert os.listdir("/proc/self/fd") == before

    def test_a_folder_that_goes_away_is_unreadable(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "x").write_text("")
        walk = files.walk(tmp_path)
        assert next(walk).path == "a/x"
        (tmp_path / "b" / "x").unlink()
        (tmp_path / "b").rmdir()
        assert [(each.path, each.refused) for each in walk] == [("b", "unreadable")]

    def test_a_folder_that_becomes_a_link_is_not_entered(self, tmp_path: Path) -> None:
        (tmp_path / "root" / "b").mkdir(parents=True)
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "secret").write_text("secret")

        def swap(name: str) -> bool:
            (tmp_path / "root" / name).rmdir()
            (tmp_path / "root" / name).symlink_to(tmp_path / "out")
            return True

        assert tree(tmp_path / "root", swap) == [("b", "unreadable")]


class TestWriting:
    def test_a_report_takes_the_place_of_the_one_before(self, tmp_path: Path) -> None:
        report = tmp_path / "report"
        files.replace(report, b"one")
        report.chmod(0o640)
        files.replace(report, b"two")
        assert report.read_bytes() == b"two"
        assert report.stat().st_mode & 0o777 == 0o640 & ~os_umask()
        assert os.listdir(tmp_path) == ["report"]

    def test_no_other_name_of_a_file_is_written_through(self, tmp_path: Path) -> None:
        (tmp_path / "precious").write_text("precious")
        os.link(tmp_path / "precious", tmp_path / "report")
        files.replace(tmp_path / "report", b"new")
        assert (tmp_path / "precious").read_text() == "precious"
        assert (tmp_path / "report").read_text() == "new"

    @pytest.mark.parametrize(
        "write", [lambda path: files.replace(path, b"new"), files.create], ids=["replace", "create"]
    )
    def test_no_part_of_a_path_may_be_a_link(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: object
    ) -> None:
        (tmp_path / "home").mkdir()
        (tmp_path / "home" / "precious").write_text("precious")
        (tmp_path / "repository").mkdir()
        (tmp_path / "repository" / "report").symlink_to(tmp_path / "home" / "precious")
        (tmp_path / "repository" / "new").symlink_to(tmp_path / "home" / "new")
        (tmp_path / "repository" / "folder").symlink_to(tmp_path / "home")
        monkeypatch.chdir(tmp_path / "repository")
        for name in ("report", "new", "folder/precious", "folder/other", "./folder/../folder/other"):
            for path in (name, f"{tmp_path}/repository/{name}"):
                with pytest.raises((NotAFile, FileExistsError)) as caught:
                    write(path)  # type: ignore[operator]
                assert caught.value.filename == path
        assert os.listdir(tmp_path / "home") == ["precious"]
        assert (tmp_path / "home" / "precious").read_text() == "precious"

    @pytest.mark.parametrize("kind", ["FIFO", "socket", "folder", "device"])
    def test_only_a_file_is_replaced(self, special: dict[str, Path], kind: str) -> None:
        with pytest.raises(NotAFile, match=f"it is a {kind}"):
            files.replace(special[kind], b"x")

    def test_a_path_needs_a_name(self, tmp_path: Path) -> None:
        for path in (f"{tmp_path}/", f"{tmp_path}/.", f"{tmp_path}/.."):
            with pytest.raises(NotAFile, match="the name of a folder"):
                files.replace(path, b"x")

    def test_what_fails_leaves_nothing_behind(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> int:
            raise OSError(28, "No space left on device")

        (tmp_path / "report").write_text("old")
        monkeypatch.setattr(files.os, "write", full)
        with pytest.raises(OSError, match="No space left") as caught:
            files.replace(tmp_path / "report", b"new")
        assert caught.value.filename == f"{tmp_path}/report"
        assert os.listdir(tmp_path) == ["report"]
        assert (tmp_path / "report").read_text() == "old"

    def test_folders_are_made_for_their_owner_alone(self, tmp_path: Path) -> None:
        os.close(files.create(tmp_path / "a" / "b" / "c", folders=True))
        os.close(files.create(tmp_path / "a" / "b" / "d", folders=True))
        for path, mode in (("a", 0o700), ("a/b", 0o700), ("a/b/c", 0o600)):
            assert (tmp_path / path).stat().st_mode & 0o777 == mode
        with pytest.raises(FileExistsError):
            files.create(tmp_path / "a" / "b" / "c")
        with pytest.raises(FileNotFoundError):
            files.create(tmp_path / "nowhere" / "c")


def os_umask() -> int:
    found = os.umask(0o077)
    os.umask(found)
    return found
