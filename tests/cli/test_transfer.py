"""--input and --output-dir of `exec` and `run`: files of this machine in, and what cells wrote out."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.test_run import scripted

CELL = "files['a/copy.txt'] = files['in.txt'] * 2"


@pytest.fixture
def given(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_bytes(b"one\r\n")
    return tmp_path


def test_cells_have_the_input_and_what_they_write_comes_out(rlm_secure: Run, given: Path) -> None:
    out = given / "out"
    places = ("--input", str(given / "in.txt"), "--output-dir", str(out))
    done = rlm_secure("exec", "-c", CELL, "--policy", "standard", *places)
    assert (done.code, done.out) == (0, "")
    assert done.err == f"{out}/a/copy.txt: 10 bytes\n"
    assert (out / "a" / "copy.txt").read_bytes() == b"one\r\none\r\n"
    assert {path.name for path in out.rglob("*") if path.is_file()} == {"copy.txt"}


def test_a_run_has_them_as_well(rlm_secure: Run, given: Path) -> None:
    turn = f"```repl\n{CELL}\nfinal_answer(files.names())\n```"
    places = ("--input", str(given / "in.txt"), "--output-dir", str(given / "out"))
    done = rlm_secure("run", "copy it", *scripted(turn), "--policy", "standard", *places)
    assert (done.code, done.out) == (0, "['a/copy.txt', 'in.txt']\n")
    assert (given / "out" / "a" / "copy.txt").read_bytes() == b"one\r\none\r\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--input", "{}/no.txt", "--policy", "standard"), "no.txt cannot be read: No such file or directory"),
        (("--input", "{}", "--policy", "standard"), "cannot be read: it is a folder, not a regular file"),
        (("--input", "{0}/in.txt", "--input", "{0}/in.txt", "--policy", "standard"), "another --input has this name"),
        (("--input", "{}/in.txt"), "this policy grants no files (limits.files = 0)"),
        (("--output-dir", "{}/out"), "this policy grants no files (limits.files = 0)"),
        (("--input", "{}/in.txt", "--policy", "{}/small.toml"), "in.txt cannot be read: it is larger than limits.file_bytes\n"),
        (("--input", "{0}/3.txt", "--input", "{0}/2.txt", "--policy", "{0}/small.toml"), "2.txt cannot be read: it is larger than limits.file_bytes, with those before it\n"),
        (("--input", "{0}/2.txt", "--input", "{0}/3.txt", "--input", "{0}/no.txt", "--policy", "{0}/small.toml"), "error: there may be 2 --inputs (limits.files)\n"),
    ],
)  # fmt: skip
def test_what_cannot_be_given_is_one_sentence(
    rlm_secure: Run, given: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    (given / "small.toml").write_text('extends = "standard"\nname = "small"\n[limits]\nfile_bytes = 4\nfiles = 2\n')
    (given / "2.txt").write_bytes(b"12")
    (given / "3.txt").write_bytes(b"123")
    done = rlm_secure("exec", "-c", "1", *(each.format(given) for each in arguments))
    assert (done.code, done.out) == (2, "")
    assert sentence in done.err and done.err.count("\n") == 1


def test_nothing_is_written_through_a_link(rlm_secure: Run, given: Path) -> None:
    (given / "elsewhere").mkdir()
    (given / "out").symlink_to(given / "elsewhere")
    done = rlm_secure("exec", "-c", "files['x'] = b'1'", "--policy", "standard", "--output-dir", str(given / "out"))
    assert done.code == 1
    assert "out in its path is a symbolic link" in done.err
    assert list((given / "elsewhere").iterdir()) == []


def test_a_cell_that_fails_still_hands_over_what_it_wrote(rlm_secure: Run, given: Path) -> None:
    cell = "files['x'] = b'1'\n1/0"
    done = rlm_secure("exec", "-c", cell, "--policy", "standard", "--output-dir", str(given / "out"))
    assert done.code == 1
    assert (given / "out" / "x").read_bytes() == b"1"


@pytest.mark.parametrize("there", ["Makefile", ".git"])
def test_cells_write_beside_no_file_of_the_users(rlm_secure: Run, given: Path, there: str) -> None:
    (given / "out").mkdir()
    (given / "out" / there).write_text("mine")
    cell = f"files['{there}'] = b'all: ; touch won'"
    done = rlm_secure("exec", "-c", cell, "--policy", "standard", "--output-dir", str(given / "out"))
    assert (done.code, done.out) == (2, "")
    assert done.err == f"rlm-secure exec: error: --output-dir {given}/out is not empty; name a new folder\n"
    assert (given / "out" / there).read_text() == "mine"


def test_what_is_no_folder_is_none_to_write_to(rlm_secure: Run, given: Path) -> None:
    place = str(given / "in.txt")
    done = rlm_secure("exec", "-c", "files['x'] = b'1'", "--policy", "standard", "--output-dir", place)
    assert (done.code, done.out) == (2, "")
    assert "in.txt is not empty; name a new folder" in done.err
    assert (given / "in.txt").read_bytes() == b"one\r\n"


@pytest.mark.parametrize(
    "name",
    [
        ".git/config", "a/.git/config", ".envrc", "a/HEAD", "head", "-rf", "a/--checkpoint-action=exec=sh b", "a\u202etxt.sh",
        "\u200c.git/config", "a/.g\u200dit/config", "HE\u200dAD",
    ],
)  # fmt: skip
def test_a_name_that_other_programs_act_upon_is_not_written(rlm_secure: Run, given: Path, name: str) -> None:
    cell = f"files[{name!r}] = b'1'\nfiles['x'] = b'2'"
    done = rlm_secure("exec", "-c", cell, "--policy", "standard", "--output-dir", str(given / "out"))
    assert done.code == 1
    assert "is not written: other programs act upon such a name" in done.err and "\u202e" not in done.err
    assert [path.name for path in (given / "out").rglob("*")] == ["x"]


@pytest.mark.parametrize("folder", [".git/", ""])
def test_git_runs_nothing_that_a_cell_named(rlm_secure: Run, given: Path, folder: str) -> None:
    settings = f"[core]\nrepositoryformatversion = 0\nbare = false\nworktree = {given}\nfsmonitor = touch {given}/won; false\n"
    cell = (
        f"at = {folder!r}\nfiles[at + 'HEAD'] = b'ref: refs/heads/main'\nfiles['x'] = b''\nfiles[at + 'config'] = {settings.encode()!r}\n"
        "for name in ('objects/a', 'refs/a'): files[at + name] = b''"
    )
    rlm_secure("exec", "-c", cell, "--policy", "standard", "--output-dir", str(given / "out"))
    subprocess.run(["git", "status"], cwd=given / "out", capture_output=True, check=False)
    assert not (given / "won").exists()


def test_an_empty_folder_is_as_good_as_a_new_one(rlm_secure: Run, given: Path) -> None:
    (given / "out").mkdir()
    done = rlm_secure("exec", "-c", "files['x'] = b'1'", "--policy", "standard", "--output-dir", str(given / "out"))
    assert done.code == 0 and (given / "out" / "x").read_bytes() == b"1"
