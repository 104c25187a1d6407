"""What a user names on the command line becomes the context, byte for byte, or a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rlm_secure import RLM, ContextError, Sandbox, documents
from rlm_secure.rlm.batch import Item
from tests.test_files import deep_folder

MIB = 1024 * 1024


def read(*paths: str | Path, limit: int = MIB) -> tuple[str | dict[str, str], list[str]]:
    notes: list[str] = []
    return documents.read([str(path) for path in paths], limit=limit, note=notes.append), notes


def test_a_file_arrives_byte_for_byte(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\x00\n\xf0\x9f\x98\x80")
    assert read(file) == ("\ufeffone\r\ntwo\rthree\x00\n\U0001f600", [])


def test_stdin_is_a_str(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").write_bytes(b"a\r\nb")
    with (tmp_path / "in").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert read("-") == ("a\r\nb", [])


def test_a_directory_is_a_dict_in_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.txt").write_text("2")
    (tmp_path / "a.txt").write_text("1")
    (tmp_path / "c.txt").write_text("")
    context, notes = read(tmp_path)
    assert list(context.items()) == [("a.txt", "1"), ("b/two.txt", "2"), ("c.txt", "")]
    assert notes == []


def test_what_a_directory_leaves_out_is_counted(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("kept")
    (tmp_path / "zero.bin").write_bytes(b"ab\0cd")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    (tmp_path / ".env").write_text("TOKEN=secret")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "up").symlink_to("..")
    os.mkfifo(tmp_path / "fifo")
    assert read(tmp_path) == (
        {"kept.txt": "kept"},
        [f"{tmp_path}: 1 text file; left out: 2 binary, 2 hidden, 2 a symbolic link, 1 no regular file"],
    )


def test_several_paths_keep_their_names(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x.txt").write_text("x")
    (tmp_path / "y.txt").write_text("y")
    context, _ = read(tmp_path / "d", tmp_path / "y.txt")
    assert context == {f"{tmp_path}/d/x.txt": "x", f"{tmp_path}/y.txt": "y"}


def test_the_limit_counts_all_files_together(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text("x" * 40)
    assert read(tmp_path, limit=120)[0] == dict.fromkeys("abc", "x" * 40)
    with pytest.raises(ContextError, match=r"larger than limits\.context_bytes = 119 \(reached in .*/c\)"):
        read(tmp_path, limit=119)


def test_an_endless_file_is_read_no_further_than_the_limit(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ContextError, match="limits.context_bytes = 1,048,576"):
        read(tmp_path / "sparse")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"caf\xe9", r"is not UTF-8 text \(byte 3\); convert it first"), (None, "cannot be read: No such file")],
)
def test_a_named_file_must_be_text(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    file = tmp_path / "file"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ContextError, match=sentence):
        read(file)


def test_an_empty_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ContextError, match="there is no text file in"):
        read(tmp_path)


SWAPS = """
import os, sys
os.chdir(sys.argv[1])
while True:
    os.symlink("../secret", "new")
    os.rename("new", "doc")
    with open("other", "w") as file:
        file.write("inside")
    os.rename("other", "doc")
"""


def test_a_file_that_is_swapped_for_a_link_gives_no_text_from_outside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside")
    root = tmp_path / "root"
    root.mkdir()
    (root / "kept").write_text("kept")
    racer = subprocess.Popen([sys.executable, "-c", SWAPS, str(root)])
    seen = set()
    try:
        count, deadline = 0, time.monotonic() + 60
        while count < 4_000 or ("inside" not in seen and time.monotonic() < deadline):  # the racer takes a while to start
            context, _ = read(root)
            assert isinstance(context, dict)
            seen |= set(context.values())
            count += 1
    finally:
        racer.kill()
        racer.wait()
    assert seen <= {"kept", "inside", ""}
    assert "inside" in seen  # the racer ran


def test_a_folder_of_any_depth_ends() -> None:
    with deep_folder() as root:
        (root / "kept").write_text("kept")
        assert read(root) == ({"kept": "kept"}, [f"{root}: 1 text file; left out: 1 too deep"])


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path, kind in ((tmp_path / "fifo", "FIFO"), (Path("/dev/zero"), "device")):
        with pytest.raises(ContextError, match=f"{path} cannot be read: it is a {kind}, not a regular file; name a"):
            read(path)


def test_a_name_that_is_no_text_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9")).write_text("x")
    assert read(tmp_path) == ({"kept": "kept"}, [f"{tmp_path}: 1 text file; left out: 1 with a name that is not UTF-8"])


def test_a_name_that_is_too_long_and_a_stdin_that_is_a_folder_are_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for names in (["a" * 300], ["a" * 300, tmp_path]):
        with pytest.raises(ContextError, match="cannot be read: File name too long; name a"):
            read(*names)
    (tmp_path / "in").write_text("")
    with (tmp_path / "in").open() as stream:
        os.dup2(folder := os.open(tmp_path, os.O_RDONLY), stream.fileno())
        os.close(folder)
        monkeypatch.setattr("sys.stdin", stream)
        with pytest.raises(ContextError, match="stdin cannot be read: Is a directory; give"):
            read("-")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x.txt").write_text("x")
    (tmp_path / "y.txt").write_text("yyy")
    return tmp_path


def test_a_path_is_read_in_its_place_and_nothing_else_is(folder: Path) -> None:
    file, directory = folder / "y.txt", folder / "d"
    assert documents.resolved(file, MIB) == "yyy"
    assert documents.resolved(folder, MIB) == {"d/x.txt": "x", "y.txt": "yyy"}
    assert documents.resolved({"a": file, "b": directory, "c": 1}, MIB) == {"a": "yyy", "b": {"x.txt": "x"}, "c": 1}
    assert documents.resolved([file, "text"], MIB) == ["yyy", "text"]
    for other in (str(file), {"a": str(file)}, [str(file)], None, 3):
        assert documents.resolved(other, MIB) is other


def test_paths_that_cannot_be_read_are_sentences(folder: Path) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(ContextError, match="none.txt cannot be read: No such file or directory; name a readable file"):
        documents.resolved({"a": folder / "none.txt"}, MIB)
    with pytest.raises(ContextError, match="there is no text file in .*empty"):
        documents.resolved(folder / "empty", MIB)
    with pytest.raises(ContextError, match=r"limits\.context_bytes = 5"):
        documents.resolved([folder / "y.txt", folder / "y.txt"], 5)


def test_a_sandbox_and_a_run_take_paths(folder: Path) -> None:
    with Sandbox(context=folder / "y.txt") as sandbox:
        assert sandbox.run("print(context)").check().stdout == "yyy\n"
    with pytest.raises(ContextError):
        Sandbox(context=folder / "none")
    with RLM("scripted", {"turns": ["```repl\nfinal_answer(str(sorted(context.items())))\n```"] * 3}) as rlm:
        answered = rlm.completion({"a": folder / "y.txt", "b": folder / "d"}, root_prompt="?")
        assert answered.response == "[('a', 'yyy'), ('b', {'x.txt': 'x'})]"
        assert answered.prompt == {"a": "yyy", "b": {"x.txt": "x"}}
        read, failed = rlm.batch([folder, folder / "none"])
        assert read.response == "[('d/x.txt', 'x'), ('y.txt', 'yyy')]"
        assert isinstance(failed, Item) and isinstance(failed.error, ContextError)


def test_a_limit_of_the_policy_holds_for_paths(folder: Path) -> None:
    with pytest.raises(ContextError, match=r"limits\.context_bytes = 2 "):
        Sandbox(policy={"name": "small", "limits": {"context_bytes": 2}}, context=folder / "y.txt")
