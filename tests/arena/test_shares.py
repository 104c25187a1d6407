"""What an arena is given by name appears in it, and is named; nothing else comes along."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from rlm_secure.removal import Scratch
from rlm_secure.testing.arena import Arena, ArenaRefused, paths, relay
from rlm_secure.testing.arena.paths import Share, closed_above, host_sockets, needed, within
from tests.arena import scene


@pytest.fixture
def place() -> Iterator[Path]:
    with scene.open_directory() as directory:
        yield directory


def run(arena: Arena, *command: str, **options) -> str:
    """What `command` prints in it."""
    with arena.start(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options) as running:
        return running.process.stdout.read().decode()


def shell(line: str, *shares: str, **options) -> str:
    return run(Arena(tuple(map(Share.parse, shares))), "sh", "-c", line, **options)


@pytest.mark.parametrize(
    "text", ["", ":rw", "/", "/:rw", "/usr/..", "/../", "/run", "/var/run", "/dev:rw", "/proc", "/proc/sys"]
)
def test_not_everything_can_be_shared(text, monkeypatch):
    with pytest.raises(ValueError, match="--share"):
        Share.parse(text)


def test_a_share_is_what_its_name_leads_to(place, monkeypatch):
    (place / "link").symlink_to("file")
    monkeypatch.chdir(place)
    assert Share.parse("link") == Share(f"{place.resolve()}/file")
    assert str(Share.parse("./x/../file:rw")) == f"{place.resolve()}/file:rw"
    assert Share.parse("file:ro").path.endswith("file:ro")


def test_a_share_is_read_only_unless_it_is_writable(place):
    assert shell(f"cat {place}/file; touch {place}/file", str(place)).startswith("as it was")
    assert (place / "file").read_text() == "as it was"
    assert shell(f"echo new > {place}/file && mkdir {place}/made && echo ok", f"{place}:rw") == "ok\n"
    assert (place / "file").read_text() == "new\n" and (place / "made").is_dir()
    about = Arena((Share(str(place), True), Share("/usr")), network=True, variables=("PATH", "NO_SUCH")).start(["true"])
    with about as running:
        assert (
            str(running.about).split(";")[0] == f"shared with it: {place}:rw, /usr, the host's network, the variable PATH"
        )


@pytest.mark.parametrize("turned", [False, True])
def test_of_nested_shares_the_inner_one_says_what_may_be_written(place, turned):
    for name in ("open", "closed"):
        (place / name).mkdir()
        (place / name / "inner").mkdir()
        (place / name / "inner").chmod(0o777)
        (place / name).chmod(0o777)
    shares = [f"{place}/open:rw", f"{place}/open/inner", f"{place}/closed", f"{place}/closed/inner:rw"]
    line = f"for at in open open/inner closed closed/inner; do touch {place}/$at/x 2>/dev/null && echo $at; done"
    assert shell(line, *(reversed(shares) if turned else shares)).split() == ["open", "closed/inner"]


def test_names_with_spaces_and_lines_in_them(place):
    odd = place / "a\nb  c:rw x"
    odd.mkdir()
    (odd / "file").write_text("odd")
    assert run(Arena((Share.parse(str(odd)),)), "cat", f"{odd}/file") == "odd"


def test_a_link_in_a_share_leads_to_what_the_arena_has(place):
    (place / "root").symlink_to("/root")
    (place / "up").symlink_to("/usr")
    shown = {each.removeprefix("/root/").split("/")[0] for each in needed() if each.startswith("/root/")}
    assert set(shell(f"ls -A {place}/root/", str(place)).split()) <= shown
    assert "ok" not in shell(f"touch {place}/up/x && echo ok", f"{place}:rw")


def test_whole_directories_with_hidden_ones_in_them_can_be_shared():
    for path in ("/etc", "/var", "/tmp"):
        assert shell(f"ls {path} >/dev/null && echo ok", path) == "ok\n"


def test_tmp_can_be_shared_in_part_and_as_a_whole(tmp_path):
    with Scratch(dir="/tmp") as directory:
        Path(directory).chmod(0o755)
        (Path(directory) / "file").write_text("there")
        # Beside it there is at most the checkout, where that lies in /tmp.
        shown = shell(f"cat {directory}/file; ls -A /tmp", str(directory))
        assert shown.startswith("there") and Path(directory).name in shown and len(shown.split()) <= 3
        assert shell(f"cat {directory}/file", "/tmp") == "there"


def test_a_home_is_hidden_and_can_be_shared(place, monkeypatch):
    (place / "home").mkdir()
    (place / "home" / "secret").write_text("secret")
    (place / "home").chmod(0o777)
    (place / "link").symlink_to("home")
    for home in (place / "home", place / "link"):
        monkeypatch.setenv("HOME", str(home))
        assert "No such file" in shell(f"cat {place}/home/secret")
        assert Arena().hides([f"{home}/secret", "/usr/bin"]) == [f"{place}/home/secret"]
        assert Arena((Share.parse(str(home)),)).hides([f"{home}/secret"]) == []
        line = f"cat {place}/home/secret; touch {place}/home/{home.name}; echo ok"
        assert shell(line, f"{place}/home:rw") == "secretok\n"
        assert (place / "home" / home.name).exists()
    monkeypatch.setenv("HOME", "/tmp")
    assert shell("touch /tmp/x && echo ok") == "ok\n"
    monkeypatch.setenv("HOME", "/")
    assert shell("echo ok") == "ok\n"


def test_what_cannot_be_shared_is_refused_by_name(place):
    with pytest.raises(ArenaRefused, match=f"--share {place}/none: there is no such path"):
        Arena((Share(f"{place}/none"),)).start(["true"])
    with pytest.raises(ArenaRefused, match="it cannot be made: No such file"):
        Arena((Share(f"{place}/none/such", True),)).start(["true"])


def test_a_new_directory_is_there_as_long_as_the_arena(place):
    arena = Arena((Share(f"{place}/new", True),))
    with arena.start(
        ["sh", "-c", f"echo told > {place}/new/file; echo $RLM_SECURE_SOCKETS"], stdout=subprocess.PIPE
    ) as running:
        assert running.process.stdout.read().decode() == f"{place}/new\n"
        assert (place / "new" / "file").read_text() == "told\n"
        assert (place / "new").stat().st_mode & 0o777 == 0o700
    assert not (place / "new").exists()


@pytest.mark.root
def test_what_is_closed_above_a_share_is_covered(place):
    (place / "closed" / "shared").mkdir(parents=True)
    (place / "closed" / "other").write_text("other")
    (place / "closed" / "shared" / "file").write_text("there")
    (place / "closed").chmod(0o700)
    assert closed_above([f"{place}/closed/shared", f"{place}/file"]) == [f"{place}/closed"]
    assert shell(f"cat {place}/closed/shared/file; ls {place}/closed", f"{place}/closed/shared") == "thereshared\n"
    (place / "closed" / "shared").chmod(0o700)
    with pytest.raises(ArenaRefused, match="chmod o\\+rx"):
        Arena((Share(f"{place}/closed/shared"),)).start(["true"])


def test_variables_come_by_name_only(monkeypatch):
    monkeypatch.setenv("ONE_TOKEN", "one")
    monkeypatch.setenv("OTHER_TOKEN", "other")
    monkeypatch.setenv("RLM_SECURE_CGROUP", "/sys")
    found = run(Arena(variables=("ONE_TOKEN",)), "env", environment={"GIVEN": "yes"})
    lines = found.splitlines()
    assert "ONE_TOKEN=one" in lines and "GIVEN=yes" in lines
    assert "other" not in found and "RLM_SECURE_CGROUP" not in found


@pytest.mark.parametrize("network", [False, True])
def test_the_network_is_shared_by_name_only(network):
    source = "import socket, sys; print(socket.socket().connect_ex(('127.0.0.1', int(sys.argv[1]))))"
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        found = run(Arena(network=network), sys.executable, "-c", source, port)
    assert (found == "0\n") is network


# -- sockets ----------------------------------------------------------------------------------------

CLIENT = """
import os, socket, sys
def asks(path):
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(path)
        client.sendall(b"a" * 300000)
        client.shutdown(socket.SHUT_WR)
        got = b""
        while chunk := client.recv(65536):
            got += chunk
        return len(got)
print(asks(sys.argv[1]))
if os.getuid() == 0:
    os.setuid(1000)
    try:
        print(asks(sys.argv[1]))
    except OSError as error:
        print("refused")
"""


@pytest.fixture
def echo(place: Path) -> Iterator[Path]:
    """A socket that only its owner may open, and that sends back what it got."""

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while chunk := connection.recv(65536):
                connection.sendall(chunk)

    def listen() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{place}/echo")
        (place / "echo").chmod(0o600)
        server.listen(1024)
        threading.Thread(target=listen, daemon=True).start()
        yield place / "echo"
        server.shutdown(socket.SHUT_RDWR)


def test_a_shared_socket_answers_the_arena_and_no_other_user_in_it(echo):
    found = run(Arena((Share.parse(str(echo)),)), sys.executable, "-c", CLIENT, str(echo)).split()
    assert found == (["300000", "refused"] if os.getuid() == 0 else ["300000"])
    assert not list(Path(tempfile.gettempdir()).glob("rlm-secure-relay-*/socket"))


@pytest.mark.root  # who else has a place where an arena hides nothing
def test_sockets_that_are_not_shared_are_covered(echo):
    assert str(echo) in host_sockets()
    assert "\n300000" not in run(Arena(), sys.executable, "-c", CLIENT, str(echo))
    assert run(Arena((Share.parse(str(echo.parent)),)), "test", "-S", str(echo)) == ""


def test_a_relay_ends_with_nothing_left(echo):
    before = threading.active_count()
    with relay.Relay(echo, uids=(os.getuid(),)) as ours:
        clients = [socket.socket(socket.AF_UNIX) for _ in range(relay._MOST + 20)]
        answered = 0
        for client in clients:
            client.connect(ours.path)
            client.settimeout(10)
        for client in clients:
            with contextlib.suppress(OSError):
                client.sendall(b"x")
                answered += client.recv(1) == b"x"
        assert answered == relay._MOST  # beyond which it hangs up
        for client in clients:
            client.close()
        assert scene.soon(lambda: threading.active_count() <= before + 1)
        with socket.socket(socket.AF_UNIX) as client:  # and there is room again
            client.connect(ours.path)
            client.sendall(b"again")
            assert client.recv(9) == b"again"
        ours.take_away()
        assert not Path(ours.path).parent.exists()
    assert scene.soon(lambda: threading.active_count() <= before)


def test_a_relay_turns_other_users_away_and_says_when_nobody_is_there(echo, monkeypatch):
    with relay.Relay(echo, uids=(0,)) as ours, socket.socket(socket.AF_UNIX) as client:
        monkeypatch.setattr(relay.os, "getuid", lambda: 1)
        monkeypatch.setattr(ours, "_uids", (2,))
        client.connect(ours.path)
        assert client.recv(1) == b""
    monkeypatch.undo()
    with relay.Relay(echo.parent / "none", uids=(0,)) as ours, socket.socket(socket.AF_UNIX) as client:
        client.connect(ours.path)
        assert client.recv(1) == b""


def test_a_relay_hangs_up_on_who_writes_to_nobody(place):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{place}/once")
        server.listen()
        with relay.Relay(place / "once", uids=(os.getuid(),)) as ours, socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(ours.path)
            server.accept()[0].close()
            with pytest.raises(BrokenPipeError):
                for _ in range(1000):
                    client.sendall(b"x" * 65536)


def test_paths():
    assert within("/a/b", ["/a"]) and within("/a/b", ["/a/"]) and not within("/ab", ["/a"])
    assert "/" not in needed() and all(Path(each).is_dir() for each in needed())
    assert psutil.Process().exe().startswith(tuple(needed()))
    assert "/root" in paths.hidden() or Path("/root").is_symlink()


def test_a_new_share_below_one_that_can_be_written_is_refused(tmp_path):
    """Whoever is in the arena could put something else in its place, and its removal would remove that."""
    tmp_path.chmod(0o777)
    shares = (Share(str(tmp_path), writable=True), Share(str(tmp_path / "sub" / "new"), writable=True))
    with pytest.raises(ArenaRefused, match="make it yourself"):
        Arena(shares).start(["true"])


def test_a_judge_imports_nothing_that_may_be_written_in_there(place, monkeypatch):
    monkeypatch.syspath_prepend(str(place))
    with pytest.raises(ArenaRefused, match="the judge imports modules from there; share it read-only"):
        Arena((Share(str(place), writable=True),)).judge("rlm_secure.audit.attack", 1)


def test_what_lies_above_a_share_in_tmp_is_nobodys_to_replace():
    """Else who may write to /tmp in there has the judge run another program of the same path."""
    with Scratch(prefix="rlm-secure-test-", dir="/tmp") as directory:
        directory.chmod(0o755)
        (directory / "deep").mkdir()
        line = f"mv {directory} /tmp/aside; touch {directory}/new; mkdir {directory}/deep/new; ls /tmp {directory}"
        said = shell(line, f"{directory}/deep")
        assert said.split()[-1] == "deep" and "aside\n" not in said.replace("/tmp/aside", "")
        assert said.count("Read-only file system") == 2, said


def test_its_python_has_no_site_of_a_users_own():
    assert run(Arena(), sys.executable, "-c", "import sys; print(sys.flags.no_user_site)") == "1\n"
