"""The file that local zygotes run: it has all that they import, and only ever what the sources compile to."""

from __future__ import annotations

import errno
import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rlm_secure.environments.local import image as images

ROOT = Path(__file__).parents[2]
USE = """
import json, os, sys
from rlm_secure import Sandbox
from rlm_secure.environments.local import image as images
exec(sys.argv[1])
with Sandbox() as sandbox:
    found = sandbox.run("import json, datetime\\njson.dumps([str(datetime.date(2026, 1, 2)), 'ß'.encode('cp437')[0]])").text
print(json.dumps([found, images.sha256(), os.pread(images.opened(), 2, 0) == b"PK"]))
"""
ANSWER = repr(json.dumps(["2026-01-02", 225]))


def use(cache: Path, before: str = "", *flags: str, **variables: str) -> tuple[str, bool]:
    """Run a cell in a process of its own: (the code's sha256, whether it was the bundle)."""
    left_out = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "RLM_SECURE_COVERAGE")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    done = subprocess.run(
        [sys.executable, *flags, "-c", USE, before],
        cwd=ROOT, env=environment | {"PYTHONPYCACHEPREFIX": str(cache)} | variables, capture_output=True, text=True,
        check=True, timeout=120,
    )  # fmt: skip
    found, sha256, bundled = json.loads(done.stdout)
    assert (found, len(sha256)) == (ANSWER, 64)
    return sha256, bundled


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("cache")
    use(made)
    return made


def kept(cache: Path) -> Path:
    (found,) = cache.rglob("guest.*.image")
    return found


def test_it_is_made_once_and_then_run_from_where_it_is_kept(cache: Path) -> None:
    before = kept(cache).stat()
    assert not use(cache)[1]
    after = kept(cache).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert oct(after.st_mode & 0o022) == "0o0"  # nobody else may change what the host will run


def test_a_zygote_takes_every_module_from_it(cache: Path) -> None:
    """`modules` lists what was imported from files of the standard library: what starts the interpreter and this."""
    with kept(cache).open("rb") as file:
        command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", f"/proc/self/fd/{file.fileno()}", "modules"]
        done = subprocess.run(
            command, pass_fds=[file.fileno()], env={"PYTHONTZPATH": ""}, capture_output=True, text=True, check=True
        )
    names = {line.partition("\0")[0] for line in done.stdout.splitlines()}
    assert names <= {"encodings", "encodings.aliases", "encodings.utf_8", "importlib", "warnings", "__future__"}


def test_the_sources_of_the_host_are_named_as_the_standard_library_names_them(cache: Path) -> None:
    data = kept(cache).read_bytes()
    assert str(ROOT).encode() not in data
    assert f"\0{json.__file__}".encode() in data


IMPORT = """
import sys
sys.path.insert(0, {root!r})
from rlm_secure.guest.image import Importer
with open({image!r}, "rb") as file:
    importer = Importer(file.read())
sys.meta_path.insert(0, importer)
import guest.language.library, guest.wire, json.tool
print(guest.__path__, guest.wire.__file__, json.__file__ == json.tool.__file__.replace("tool", "__init__"))
print(len(guest.language.library.__loader__.get_data("guest/language/library/html.py")) > 0)
for attempt in (lambda: importer.read("guest/none.py"), lambda: __import__("guest.none")):
    try:
        attempt()
    except (OSError, ImportError) as error:
        print(error)
importer.close()
print(importer.find_spec("guest.wire"), importer.find_spec("json"))
"""


def test_what_is_not_in_it_is_found_in_the_standard_library_alone(cache: Path, tmp_path: Path) -> None:
    (tmp_path / "guest").mkdir()
    (tmp_path / "guest" / "none.py").write_text("print('of the current directory')")
    program = IMPORT.format(root=str(ROOT), image=str(kept(cache)))
    command = [sys.executable, "-I", "-S", "-B", "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "[] guest/wire.pyc True",
        "True",
        "no such file: guest/none.py",
        "No module named 'guest.none'",
        "None None",
    ]


@pytest.mark.parametrize("broken", ["garbage", "no table", "cut short", "of other sources", "empty", "a table of nothing"])
def test_what_is_kept_and_wrong_is_made_anew(cache: Path, broken: str) -> None:
    good = kept(cache).read_bytes()
    length = int(good[-8:], 16)
    table = good[-length - 8 : -8]
    other = b"0" * 64 + table[64:]
    kept(cache).write_bytes(
        {
            "garbage": b"\xff" * 1000,
            "no table": good[:-8] + b"00000000",
            "cut short": good[:-100],
            "of other sources": good[: -length - 8] + other + good[-8:],
            "empty": b"",
            "a table of nothing": table[:129] + b"\nx" + b"00000083",
        }[broken]
    )
    assert not use(cache)[1]
    assert kept(cache).read_bytes() == good


STATES = """
real = images.bundles._state
images.bundles._state = lambda of: (*real(of), 1) if of.st_ino == {inode} else real(of)
"""


@pytest.mark.parametrize("changed", [json.__file__, f"{ROOT}/rlm_secure/guest/wire.py"])
def test_a_source_that_has_changed_is_noticed(cache: Path, changed: str) -> None:
    before = kept(cache).read_bytes()
    assert not use(cache, STATES.format(inode=Path(changed).stat().st_ino))[1]
    after = kept(cache).read_bytes()
    assert after != before
    assert len(after) == len(before)
    use(cache)


@pytest.mark.parametrize("other", ["version", "library"])
def test_another_interpreter_of_that_version_makes_its_own(cache: Path, other: str) -> None:
    before = kept(cache).read_bytes()
    change = {"version": "sys.version += '!'", "library": "os.__file__ = '/another/os.py'"}[other]
    assert not use(cache, change)[1]
    assert kept(cache).read_bytes() != before
    use(cache)


def refuse(what: str) -> str:
    return f"""
def refuse(*_, **__):
    raise {what}
"""


@pytest.mark.parametrize(
    ("before", "flags", "variables"),
    [
        ("", (), {"PYTHONDONTWRITEBYTECODE": "1"}),
        ("", ("-O",), {}),
        (refuse("OSError(28, 'no space left')") + "images.bundles.keep = refuse", (), {}),
        (refuse("images.subprocess.TimeoutExpired('python', 60)") + "images._imported = refuse", (), {}),
        (refuse("ImportError('a module')") + "images._imported = refuse", (), {}),
        ("images._members = lambda _: {}", (), {}),
    ],
)
def test_where_none_can_be_made_zygotes_run_the_bundle(
    cache: Path, tmp_path: Path, before: str, flags: tuple[str, ...], variables: dict[str, str]
) -> None:
    assert use(tmp_path, before, *flags, **variables) == (use(cache)[0], True)
    assert not list(tmp_path.rglob("*.image"))


UPGRADED = """
images.sha256()
if {read}:
    images.read()
path = images.bundles.kept_at("image")
os.rename(path, path + ".old")
with open(path, "wb") as file:
    file.write(b"print('another version')")
"""


def test_an_upgrade_does_not_change_what_a_program_runs(tmp_path: Path) -> None:
    use(tmp_path)
    assert not use(tmp_path, UPGRADED.format(read=True))[1]
    assert kept(tmp_path).read_bytes() == b"print('another version')"


def test_what_has_changed_before_it_was_read_is_checked_again(tmp_path: Path) -> None:
    use(tmp_path)
    good = kept(tmp_path).read_bytes()
    assert not use(tmp_path, UPGRADED.format(read=False))[1]
    assert kept(tmp_path).read_bytes() == good
    assert not use(tmp_path, "images.sha256()\nos.unlink(images.bundles.kept_at('image'))")[1]
    assert kept(tmp_path).read_bytes() == good


def test_what_cannot_be_read_now_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(images, "_program", functools.cache(lambda: images._Program("0" * 64)))
    monkeypatch.setattr(images, "opened", refuse)
    images.read()
    assert images._program().data == b""


def test_a_copy_that_cannot_be_written_leaves_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.listdir("/proc/self/fd")
    with pytest.raises(TypeError):
        images._in_memory("no bytes")  # type: ignore[arg-type]
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.root
def test_a_zygote_keeps_no_file_of_the_host_open(cache: Path) -> None:
    program = (
        "import os, psutil\nfrom rlm_secure import Sandbox\n"
        "with Sandbox() as sandbox:\n"
        "    sandbox.run('1')\n"
        "    links = [(each.pid, f'/proc/{each.pid}/fd') for each in psutil.Process().children(recursive=True)]\n"
        "    print(sorted({os.readlink(f'{at}/{n}') for _, at in links for n in os.listdir(at)}))"
    )
    left_out = ("PYTHONDONTWRITEBYTECODE", "RLM_SECURE_COVERAGE")  # what is measured runs from memory
    kept_in = {name: value for name, value in os.environ.items() if name not in left_out}
    environment = kept_in | {"PYTHONPYCACHEPREFIX": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert ".image" not in done.stdout
    assert "/memfd:" not in done.stdout
    assert "socket" in done.stdout
