"""On Windows and macOS: what needs no local session works, and a local session is refused in one sentence.

Shown in children that have of the standard library what CPython has there (platforms.py). Only a real machine can show
the rest: its paths, its SDKs' wheels, its sockets to an engine.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rlm_secure.registry import ENVIRONMENTS
from tests.packaging import platforms

SYSTEMS = {"win32": "Windows on AMD64", "darwin": "macOS on arm64"}


@pytest.fixture(params=platforms.PLATFORMS)
def system(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def printed(system: str, program: str, *arguments: str, cwd: Path, **variables: str) -> str:
    """What the program printed, after it ended without an error."""
    done = platforms.run(system, program, *arguments, cwd=cwd, **variables)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def command(system: str, *arguments: str, cwd: Path) -> tuple[int, str, str]:
    """`rlm-secure ARGUMENTS` there: exit code, output, errors."""
    program = "import sys\nfrom rlm_secure.__main__ import main\nsys.exit(main())"
    done = platforms.run(system, program, *arguments, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


def test_the_simulation_takes_away(system: str, tmp_path: Path) -> None:
    """The control: what only Linux has is not there, and on Windows what only Unix has is not either."""
    program = (
        "import os, signal, socket, sys\n"
        "def importable(name):\n"
        "    try:\n        __import__(name)\n    except ModuleNotFoundError:\n        return False\n    return True\n"
        "print([hasattr(os, name) for name in ('memfd_create', 'O_PATH', 'pidfd_open', 'fork', 'getuid', 'O_NOFOLLOW')])\n"
        "print([importable(name) for name in ('fcntl', 'resource', 'pwd', 'grp', 'termios')])\n"
        "print(hasattr(signal, 'SIGKILL'), hasattr(socket, 'AF_UNIX'), os.open in os.supports_dir_fd, sys.platform)\n"
    )
    unix = system == "darwin"
    assert printed(system, program, cwd=tmp_path).splitlines() == [
        str([False, False, False, unix, unix, unix]), str([unix] * 5), f"{unix} {unix} {unix} {system}",
    ]  # fmt: skip


def test_every_public_name_is_there(system: str, tmp_path: Path) -> None:
    program = (
        "import rlm_secure\n"
        "found = [getattr(rlm_secure, name) for name in rlm_secure.__all__]\n"
        "import rlm_secure.testing.plugin\n"
        "print(len(found) == len(rlm_secure.__all__))"
    )
    assert printed(system, program, cwd=tmp_path) == "True\n"


def test_policies_load_and_say_what_is_wrong(system: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('extends = "strict"\nname = "mine"\n[limits]\ncell_seconds = 5\n')
    (tmp_path / "wrong.toml").write_text('extends = "strict"\nname = "wrong"\n[limits]\ncells_seconds = 5\n')
    program = (
        "from rlm_secure import PolicyError, load_policy\n"
        "print([load_policy(name).name for name in ('strict', 'standard', 'data', 'research')])\n"
        "print(load_policy('mine.toml').limits.cell_seconds)\n"
        "try:\n    load_policy('wrong.toml')\n"
        "except PolicyError as error:\n    print('cells_seconds' in str(error))\n"
    )
    assert printed(system, program, cwd=tmp_path).splitlines() == ["['strict', 'standard', 'data', 'research']", "5.0", "True"]


def test_files_are_audited(system: str, tmp_path: Path) -> None:
    """A folder is walked, each file is read whole and in bytes, and a report replaces an older one."""
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "deep" / "Dockerfile").write_bytes(b"FROM python:3.11\r\nUSER root\r\n")
    (tmp_path / "src" / "run.py").write_text("from rlm import RLM\nRLM(environment='local')\n")
    (tmp_path / "report.json").write_text("old")
    (tmp_path / "secret").write_text("FROM python:3.11\n")
    (tmp_path / "src" / "Dockerfile").symlink_to(tmp_path / "secret")
    code, out, err = command(system, "audit", "src", "--format", "json", "-o", "report.json", cwd=tmp_path)
    assert (code, out) == (1, ""), err
    report = json.loads((tmp_path / "report.json").read_text())
    assert {finding["rule"] for finding in report["findings"]} >= {"image-unpinned"}
    assert {finding["file"] for finding in report["findings"] if finding["rule"] == "image-unpinned"} == {
        "src/deep/Dockerfile"
    }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json", "secret", "src"]


def test_a_link_is_neither_read_through_nor_written_through(system: str, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_bytes(b"a\r\nb")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "to.txt").symlink_to("a.txt")
    program = (
        "from rlm_secure import files\n"
        "print(files.read('real/a.txt', 99), files.read('link/a.txt', 99), files.read('a.txt', 99, below='real'))\n"
        "def said(call, *arguments, **options):\n"
        "    try:\n        return call(*arguments, **options)\n    except OSError as error:\n        return error.strerror\n"
        "print(said(files.read, 'link/a.txt', 99, below='.'))\n"
        "print(said(files.read, 'to.txt', 99, below='real'))\n"
        "print(said(files.replace, 'link/b.txt', b'b'))\n"
        "print(said(files.replace, 'real/to.txt', b'b'))\n"
        "print(said(files.replace, 'real/new/b.txt', b'b', folders=True), files.read('real/new/b.txt', 9))\n"
        "print([(entry.path, entry.refused) for entry in files.walk('real')])\n"
    )
    assert printed(system, program, cwd=tmp_path).splitlines() == [
        "b'a\\r\\nb' b'a\\r\\nb' b'a\\r\\nb'",
        "link in its path is a symbolic link",
        "it is a symbolic link, not a regular file",
        "link in its path is a symbolic link",
        "it is a symbolic link, not a regular file",
        "None b'b'",
        "[('a.txt', ''), ('new/b.txt', ''), ('to.txt', 'a symbolic link')]",
    ]


def test_what_no_flag_of_open_keeps_out_is_looked_at(tmp_path: Path) -> None:
    """Windows: no O_NOFOLLOW, no owner of a file, and names with a drive or a stream."""
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    program = (
        "import os\n"
        "from rlm_secure import files\n"
        "def said(call, *arguments, **options):\n"
        "    try:\n        return call(*arguments, **options)\n    except OSError as error:\n        return error.strerror\n"
        "print(said(files.read_private, 'a.txt', 99))\n"
        "print(said(files.read, 'a.txt:stream', 99, below='.'))\n"
        "real = os.open\n"
        "def replaced(path, *arguments, **options):\n"
        "    os.replace('b.txt', path)\n    return real(path, *arguments, **options)\n"
        "os.open = replaced\n"
        "print(said(files.read, 'a.txt', 99, below='.'))\n"
    )
    assert printed("win32", program, cwd=tmp_path).splitlines() == [
        "this system does not say here who else may read it",
        "a.txt:stream is no plain name",
        "it was replaced while it was opened",
    ]


def test_what_cannot_be_removed_is_an_error(system: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    program = (
        "from rlm_secure.removal import RemovalError, remove\n"
        "try:\n    remove('file/inner')\nexcept RemovalError as error:\n    print(error.filename, error.strerror)"
    )
    assert printed(system, program, cwd=tmp_path) == "file/inner Not a directory\n"


def test_a_tree_is_removed_and_a_link_in_it_is_not_followed(system: str, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "deep" / "link").symlink_to(tmp_path / "kept")
    program = "from rlm_secure.removal import Scratch, remove\nprint(remove('tree'), remove('nothing'))\nwith Scratch() as a:\n    (a / 'b').touch()\nprint(a.exists())"
    assert printed(system, program, cwd=tmp_path) == "() ()\nFalse\n"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "kept"]


def test_local_refuses_with_one_sentence(system: str, tmp_path: Path) -> None:
    program = (
        "from rlm_secure import RLM, EnvironmentUnavailable, Sandbox\n"
        "def said(call):\n"
        "    try:\n        call()\n    except EnvironmentUnavailable as error:\n        print(error)\n"
        "said(Sandbox)\n"
        "rlm = RLM(backend='scripted', backend_kwargs={'turns': ['x']})\n"
        "print(type(rlm).__name__)\n"
        "said(lambda: rlm.completion('context'))\n"
        "rlm.close()\n"
    )
    first, built, second = printed(system, program, cwd=tmp_path).splitlines()
    assert (first, built) == (second, "RLM")
    assert first == (
        f"the environment local needs Linux on x86_64 or aarch64 and a Python of 64 bits, and this is {SYSTEMS[system]}, 64 "
        "bits; take the environment docker, with an engine that runs Linux containers, or a cloud, such as e2b"
    )


def test_every_other_environment_can_be_constructed(system: str, tmp_path: Path) -> None:
    """With the SDKs of this Python: those of the other system are other wheels of the same code."""
    program = (
        "import sys\n"
        "from rlm_secure import RLM\n"
        "from rlm_secure.environments.registry import create_environment\n"
        "for name in sys.argv[1:]:\n"
        "    print(create_environment(name).name, type(RLM(environment=name)).__name__)\n"
    )
    others = [name for name in ENVIRONMENTS if name != "local"]
    found = printed(system, program, *others, cwd=tmp_path, OPENAI_API_KEY="none").splitlines()
    assert found == [f"{name} RLM" for name in others]


def test_commands_that_need_no_session_work(system: str, tmp_path: Path) -> None:
    assert command(system, "--version", cwd=tmp_path)[0] == 0
    assert command(system, "policy", "check", "strict", cwd=tmp_path)[0] == 0
    assert command(system, "policy", "init", "policy.toml", cwd=tmp_path)[0] == 0
    assert command(system, "explain", "image-unpinned", cwd=tmp_path)[0] == 0
    assert command(system, "policy", "diff", "strict", "policy.toml", cwd=tmp_path)[0] == 0


@pytest.mark.parametrize("arguments", [("exec", "-c", "print(1)"), ("demo",), ("audit", "--quick"), ("arena", "--", "true")], ids=" ".join)
def test_commands_that_need_linux_say_so(system: str, arguments: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "policy.toml").touch()
    code, out, err = command(system, *arguments, cwd=tmp_path)
    assert code == (125 if arguments[0] == "arena" else 2), (out, err)
    assert "Traceback" not in err
    assert "Linux" in err


def test_doctor_says_what_to_take_instead(system: str, tmp_path: Path) -> None:
    code, out, err = command(system, "doctor", "--json", cwd=tmp_path)
    environments = {each["environment"]: each for each in json.loads(out)["environments"]}
    assert (code, err) == (1, "")
    assert "Linux" in environments["local"]["reason"]
    assert "docker" in environments["local"]["reason"]


def test_an_audit_log_is_refused_where_files_have_no_owner(system: str, tmp_path: Path) -> None:
    program = (
        "from rlm_secure import AuditLog, AuditLogError\n"
        "AuditLog()\n"
        "try:\n    print(AuditLog('audit.jsonl').path)\n"
        "except AuditLogError as error:\n    print(error)\n"
    )
    said = printed(system, program, cwd=tmp_path)
    expected = "audit.jsonl\n" if system == "darwin" else "neither flock(2) nor file modes"
    assert expected in said
