"""Files of a session: in and out without a file system, within their limits, and as files of Python behave."""

from __future__ import annotations

import contextlib
import io
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlm_secure import Policy, Sandbox
from rlm_secure.broker import protocol
from rlm_secure.broker.protocol import file_sizes
from rlm_secure.environments.interface import Session
from rlm_secure.environments.local import LocalEnvironment
from rlm_secure.environments.local.session import open_session
from rlm_secure.environments.repl import no_host
from rlm_secure.errors import (
    CellError,
    CellException,
    CellRefused,
    CellTimeout,
    EnvironmentUnavailable,
    ProtocolViolation,
    Refused,
    SessionEnded,
)
from rlm_secure.guest.session import store

SMALL = Policy.load({"extends": "standard", "limits": {"files": 3, "file_bytes": 100_000}})


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("standard") as made:
        yield made


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    with Sandbox("standard") as made:
        yield made


def test_the_host_puts_reads_lists_and_removes(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "on-disk.bin").write_bytes(b"\x00\xff")
    sandbox.files["a.csv"] = "n\n1\n"
    sandbox.files["deep/b.bin"] = bytearray(b"\x00" * 3_000_000)
    sandbox.files["c"] = tmp_path / "on-disk.bin"
    assert sandbox.files.sizes() == {"a.csv": 4, "deep/b.bin": 3_000_000, "c": 2}
    assert sandbox.run("(files.names(), files['c'], len(files), 'c' in files)").check().value == (
        ["a.csv", "c", "deep/b.bin"], b"\x00\xff", 3, True,
    )  # fmt: skip
    assert sandbox.files["deep/b.bin"] == b"\x00" * 3_000_000
    del sandbox.files["c"]
    assert (set(sandbox.files), len(sandbox.files), "c" in sandbox.files) == ({"a.csv", "deep/b.bin"}, 2, False)
    for use in (lambda: sandbox.files["c"], lambda: sandbox.files.pop("c"), lambda: sandbox.files.__delitem__("c")):
        with pytest.raises(KeyError):
            use()
    assert "files" in repr(sandbox.files)
    with pytest.raises(TypeError, match="not int"):
        sandbox.files["d"] = 5  # type: ignore[assignment]
    with pytest.raises(OSError):
        sandbox.files["d"] = tmp_path / "not-there"


def test_what_a_cell_writes_comes_back_once(sandbox: Sandbox) -> None:
    sandbox.files["in.txt"] = "one\ntwo\n"
    result = sandbox.run(
        "import csv, json\n"
        "with files.open('in.txt') as f:\n    lines = [line.strip() for line in f]\n"
        "with files.open('out/rows.csv', 'w', newline='') as f:\n    csv.writer(f).writerows([[n, 'a,b'] for n in lines])\n"
        "with files.open('out/all.json', 'w') as f:\n    json.dump(lines, f)\n"
        "with files.open('in.txt', 'a') as f:\n    print('three', file=f)\n"
        "files['gone'] = b'x'; files.remove('gone')\n"
        "json.load(files.open('out/all.json'))"
    ).check()
    assert result.value == ["one", "two"]
    assert result.files == {
        "out/rows.csv": b'one,"a,b"\r\ntwo,"a,b"\r\n',
        "out/all.json": b'["one", "two"]',
        "in.txt": b"one\ntwo\nthree\n",
    }
    assert result.to_dict()["files"] == {"out/rows.csv": 22, "out/all.json": 14, "in.txt": 14}
    assert sandbox.run("len(files)").check().files == {}


def test_a_large_file_comes_back_whole(sandbox: Sandbox) -> None:
    result = sandbox.run("files['big'] = bytes(range(256)) * 40_000").check()
    assert result.files["big"] == bytes(range(256)) * 40_000


def test_what_threads_put_at_the_same_time_stays_apart(sandbox: Sandbox) -> None:
    wrong: list[str] = []
    ended: list[str] = []

    def use(name: str) -> None:
        for _ in range(30):
            sandbox.files[name] = name * 1000
            sandbox.set(**{name: name * 1000})
            found = (sandbox.files[name], sandbox.get(name))
            if found != (name.encode() * 1000, name * 1000):
                wrong.append(name)
        ended.append(name)

    threads = [threading.Thread(target=use, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (wrong, sorted(ended)) == ([], ["a", "b", "c", "d"])


def test_a_cell_may_make_and_remove_any_number(sandbox: Sandbox) -> None:
    code = "for n in range(5000):\n    files[str(n)] = b''\n    files.remove(str(n))\nfiles['kept'] = b'1'"
    assert sandbox.run(code).check().files == {"kept": b"1"}


def test_a_policy_under_which_no_file_can_be_read_says_so() -> None:
    with Sandbox(Policy.load({"extends": "standard", "limits": {"value_bytes": 60}})) as small:
        result = small.run("files['a'] = b'1' * 100")
        assert "limits.value_bytes is too small" in result.stderr and isinstance(result.error, CellException)
        with pytest.raises(CellException, match="value_bytes"):
            small.files["a"]
        assert small.files.sizes() == {"a": 100}
    with Sandbox(Policy.load({"extends": "standard", "limits": {"value_bytes": 100}})) as enough:
        assert enough.run("files['a'] = b'1' * 100").check().files == {"a": b"1" * 100}


def test_files_with_long_names_are_listed(sandbox: Sandbox) -> None:
    with Sandbox(Policy.load({"extends": "standard", "limits": {"value_bytes": 500}})) as small:
        assert len(small.run("for n in range(20): files['\u20ac' * 150 + str(n)] = b'1' * 1000").check().files) == 20
        assert len(small.files) == 20


def test_a_list_of_files_that_fits_in_no_result_is_an_error() -> None:
    policy = Policy.load({"extends": "standard", "limits": {"result_bytes": 65_536, "value_bytes": 60_000}})
    with Sandbox(policy) as small:
        result = small.run("for n in range(256): files['\U0001f600' * 190 + str(n)] = b''\nprint('done')", timeout=20)
        assert isinstance(result.error, CellRefused) and "list of the files" in str(result.error)
        assert (result.stdout, result.files) == ("done\n", {})
        with pytest.raises(CellRefused, match=r"limits\.result_bytes"):
            small.files.sizes()
        assert small.run("len(files)").check().value == 256


_LIES = """
import sys
tagged = sys.modules['guest.session.tagged']
store = sys.modules['guest.session.worker']._current._store
listed = {listed}
store.changed = store.sizes = lambda: listed
store.part = lambda name, begin, count: {part}
"""


@pytest.mark.parametrize("listed", [{f"{n}": 1 for n in range(4)}, {"a": 100_001}, {"a": 60_000, "b": 60_000}])
def test_more_files_than_the_policy_grants_are_a_violation(listed: dict[str, int]) -> None:
    with open_session(SMALL, screen=False) as session:
        with pytest.raises(ProtocolViolation, match="more files than its policy grants"):
            session.execute(_LIES.format(listed=listed, part="b''"), no_host)
        assert not session.alive


@pytest.mark.parametrize("part", ["bytes(count)", "bytes(count + 1)", "vars(tagged).update(of_bytes=len) or b''"])
def test_a_file_without_an_end_is_a_violation(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = _Violations()
    with _hostile(SMALL, monkeypatch, audit=seen) as sandbox:
        sandbox.run(_LIES.format(listed={}, part=part)).check()
        with pytest.raises(ProtocolViolation):
            sandbox.files["a"]
        assert seen.said == ["ProtocolViolation"]
        with pytest.raises(SessionEnded):
            sandbox.run("1")


def test_a_file_that_is_not_as_it_was_listed_does_not_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with _hostile(SMALL, monkeypatch) as sandbox:
        lies = _LIES.format(listed={"a": 5, "b": 6, "c": 7}, part="None if name == 'c' else b'12345'[begin:begin + count]")
        assert sandbox.run(lies).check().files == {"a": b"12345"}


@pytest.mark.parametrize("limit", [4096, 16384])
def test_a_file_that_is_larger_than_a_frame_comes_in_parts(limit: int) -> None:
    data = bytes(range(256)) * 400
    with Sandbox({"extends": "standard", "limits": {"result_bytes": limit}}) as small:
        result = small.run("files['large'] = bytes(range(256)) * 400\nfiles['small'] = b'1'").check()
        assert result.files == {"large": data, "small": b"1"}
        assert small.files["large"] == data


@pytest.mark.parametrize("count", [1, 3])
def test_a_worker_that_is_slow_with_its_files_has_the_time_of_a_run(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = {"extends": "standard", "limits": {"run_seconds": 1, "cell_seconds": 1, "value_bytes": 1000}}
    with _hostile(Policy.load(policy), monkeypatch) as sandbox:
        began = time.monotonic()
        slow = "__import__('time').sleep(0.4) or b'1' * (count if begin < 100_000 else 0)"
        result = sandbox.run(_LIES.format(listed=dict.fromkeys("abc"[:count], 200_000), part=slow))
        assert time.monotonic() - began < 10
        assert isinstance(result.error, CellTimeout) and result.error.limit == "limits.run_seconds"
        assert "not all files that the cell wrote could be read" in result.stderr
        assert result.files == {}


@pytest.mark.parametrize("pause", [0.3, 60])
def test_a_worker_that_is_slow_with_its_files_has_the_time_of_its_caller(
    pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _hostile(Policy.load({"extends": "standard", "limits": {"value_bytes": 1000}}), monkeypatch) as sandbox:
        began = time.monotonic()
        slow = f"__import__('time').sleep({pause}) or b'1' * (count if begin < 100_000 else 0)"
        result = sandbox.run(_LIES.format(listed={"a": 200_000}, part=slow), timeout=1.0)
        assert time.monotonic() - began < 6
        assert isinstance(result.error, CellTimeout) and "1 s that its caller gave it" in str(result.error)
        assert result.files == {}


def test_large_files_come_back_at_the_end_of_their_caller_s_time(sandbox: Sandbox) -> None:
    result = sandbox.run("files['a'] = b'1' * 10_000_000\nfiles['b'] = b'2'\nwhile True: pass", timeout=1.0)
    assert isinstance(result.error, CellTimeout)
    assert {name: len(data) for name, data in result.files.items()} == {"a": 10_000_000, "b": 1}


class _Violations:
    """An audit log that keeps the names of violations."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def violation(self, _session: str, *, violation: str, **_: Any) -> None:
        self.said.append(violation)

    def session_start(self, *_: Any, **__: Any) -> None: ...
    def session_end(self, *_: Any, **__: Any) -> None: ...
    def refusal(self, *_: Any, **__: Any) -> None: ...
    def limit(self, *_: Any, **__: Any) -> None: ...


def _hostile(policy: Policy, monkeypatch: pytest.MonkeyPatch, audit: Any = None) -> Sandbox:
    """A sandbox whose cells are plain Python in the worker."""
    monkeypatch.setattr(LocalEnvironment, "open", lambda _self, policy, **given: open_session(policy, screen=False, **given))
    return Sandbox(policy, audit=audit)


def test_names_of_a_cell_s_own_win(sandbox: Sandbox) -> None:
    assert sandbox.run("files = ['a']\nfiles").check().value == ["a"]
    again = sandbox.run("files").check()
    assert (again.value, again.locals["files"]) == (["a"], ["a"])
    sandbox.run("del files").check()
    result = sandbox.run("files.names()").check()
    assert (result.value, "files" in result.locals) == ([], False)


def test_files_outlive_a_killed_cell_and_come_back_as_they_were(sandbox: Sandbox) -> None:
    sandbox.files["put"] = b"put"
    sandbox.run("files['made'] = b'made'").check()
    killed = sandbox.run("files['made'] = b'lost'\nsum(range(10**12))", timeout=0.5)  # C code that looks at no signal
    assert killed.error is not None and not killed.error.session_ended
    assert dict(sandbox.files) == {"put": b"put", "made": b"made"}


def test_limits_hold_for_cells_and_for_the_host() -> None:
    with Sandbox(SMALL) as sandbox:
        many = sandbox.run("for n in range(4): files[str(n)] = b'x'")
        assert isinstance(many.error, CellException)
        assert "there may be 3 files (limits.files)" in str(many.error)
        assert len(sandbox.files) == 3
        large = sandbox.run("files['0'] = b'x' * 99_998\nfiles['0'] = b'x' * 99_999")
        assert "all files together may take 100000 bytes (limits.file_bytes)" in str(large.error)
        grown = sandbox.run("f = files.open('1', 'ab')\nwhile True: f.write(b'y' * 1000)")
        assert "limits.file_bytes" in str(grown.error)
        beyond = sandbox.run("f = files.open('1', 'r+b'); f.seek(1 << 40); f.write(b'z')")
        assert "limits.file_bytes" in str(beyond.error)
        assert sum(sandbox.files.sizes().values()) <= 100_000
        with pytest.raises(Refused, match=r"100,001 bytes, more than limits\.file_bytes"):
            sandbox.files["0"] = b"x" * 100_001
        with pytest.raises(CellError, match=r"limits\.files"):
            sandbox.files["another"] = b""
        del sandbox.files["0"]
        sandbox.files["another"] = b""


def test_the_refusal_of_open_names_what_there_is(shared: Sandbox) -> None:
    assert "use files.open(name, mode)" in shared.run("open('a')").stderr
    assert shared.run("try:\n    open('a')\nexcept FileNotFoundError:\n    'caught'").error is None
    with Sandbox() as strict:
        assert "files.open" not in strict.run("open('a')").stderr


def test_a_policy_without_files_has_no_such_object() -> None:
    with Sandbox() as strict:
        assert "NameError" in strict.run("files").stderr
        for use in (lambda: strict.files["a"], lambda: list(strict.files), lambda: strict.files.update(a=b"")):
            with pytest.raises(Refused, match=r"this policy grants no files \(limits\.files = 0\)"):
                use()


@pytest.mark.parametrize(
    "name",
    ["", "/etc/passwd", "../up", "a/../b", "a//b", "a/", ".", "..", "a\\b", "C:x", "a\x00b", "a\nb", "x" * 201, "\ud800", "...", ".. /a", "a. ", "a ", "b./a"],
)
def test_a_name_that_leads_elsewhere_is_no_name(shared: Sandbox, name: str) -> None:
    said = shared.run(f"files.open({name!r}, 'w')")
    assert "cannot be a file's name" in str(said.error)
    with pytest.raises(ValueError, match="cannot be a file's name"):
        shared.files[name] = b""
    with pytest.raises(ProtocolViolation):
        file_sizes({name: 1})


@pytest.mark.parametrize("name", ["a.b", ".hidden", "..a/b c", "\u20ac/\U0001f600", "a/" * 99 + "b", "x" * 200])
def test_other_names_are_names(shared: Sandbox, name: str) -> None:
    shared.files[name] = b"1"
    assert shared.files[name] == b"1"
    del shared.files[name]


@pytest.mark.parametrize(
    "listed", [1, ["a"], {"a": -1}, {"a": 1.5}, {"a": True}, {"a": "1"}, {"a": 2**60}, {f"{n}": 1 for n in range(4097)}, {"a": None}]
)
def test_files_that_no_worker_has_are_a_violation(listed: Any) -> None:
    with pytest.raises(ProtocolViolation):
        file_sizes(listed)
    done = {"op": "done", "stdout": "", "stderr": "", "variables": {}, "cpu": 0, "peak": 0, "dropped": 0, "files": listed}
    said = protocol.decode(json.dumps(done).encode(), limit=1 << 20)
    with pytest.raises(ProtocolViolation):
        protocol.event(said, value_bytes=99, stdout_bytes=99, result_bytes=9999)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("files.open('not-there')", "FileNotFoundError"),
        ("files['not-there']", "FileNotFoundError"),
        ("files.remove('not-there')", "FileNotFoundError"),
        ("files['x'] = b''\nfiles.open('x', 'x')", "FileExistsError"),
        ("files.open('x', 'q')", "ValueError"),
        ("files.open('x', 'rtb')", "ValueError"),
        ("f = files.open('x', 'w'); f.close(); f.write('a')", "ValueError"),
        ("files.open('x', 'w').read()", "UnsupportedOperation"),
        ("files.open('x', 'wb').write('text')", "TypeError"),
        ("files.open('x', 'w').write(b'bytes')", "TypeError"),
        ("files.open(5, 'w').write(b'bytes')", "TypeError"),
        ("files.open('x', 'wb').seek(-1)", "ValueError"),
    ],
)
def test_errors_are_those_that_honest_code_expects(shared: Sandbox, code: str, kind: str) -> None:
    assert str(shared.run(code).error).partition(":")[0].endswith(kind)


# -- as files of Python behave -----------------------------------------------------------------------------------

_PIECES = st.sampled_from(["a", "b\n", "\r\n", "c\rd", "\u20ac\n", "longer text\nof lines\n"])
_STEP = st.one_of(
    st.tuples(st.just("write"), _PIECES),
    st.tuples(st.just("read"), st.integers(-1, 9)),
    st.tuples(st.just("readline"), st.integers(1, 5) | st.just(-1)),
    st.tuples(st.just("seek"), st.integers(0, 12)),
    st.tuples(st.just("tell")),
    st.tuples(st.just("lines")),
    st.tuples(st.just("truncate"), st.integers(0, 9)),
)
_PROGRAM = """
def use(file, steps, binary):
    said = []
    for name, *given in steps:
        try:
            if name == "lines":
                said.append([line for line in file])
            elif name == "write":
                said.append(file.write(given[0].encode() if binary else given[0]))
            else:
                said.append(getattr(file, name)(*given))
        except Exception as error:
            said.append(type(error).__name__)
    file.close()
    return said
"""


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from(["rb", "wb", "ab", "r+b", "w+b", "a+b"]), st.lists(_STEP, max_size=8), st.binary(max_size=30))
def test_a_binary_file_does_what_a_real_one_does(
    shared: Sandbox, tmp_path: Path, mode: str, steps: list[Any], before: bytes
) -> None:
    if "a" in mode:  # a buffered file does not know where it is before what it appends is written
        steps = [step for step in steps if step[0] in ("write", "seek", "truncate")]
    _compare(shared, tmp_path, mode, steps, before)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.sampled_from(["r", "w", "a"]),
    st.lists(_STEP.filter(lambda step: step[0] in ("write", "read", "readline", "lines")), max_size=8),
    st.lists(_PIECES).map("".join),
)
def test_a_text_file_does_what_a_real_one_does(
    shared: Sandbox, tmp_path: Path, mode: str, steps: list[Any], before: str
) -> None:
    _compare(shared, tmp_path, mode, steps, before.encode())


def _compare(sandbox: Sandbox, folder: Path, mode: str, steps: list[Any], before: bytes) -> None:
    real = folder / "real"
    real.write_bytes(before)
    space: dict[str, Any] = {}
    exec(_PROGRAM, space)  # noqa: S102 - the program of this test, beside which the sandbox's is compared
    with contextlib.suppress(io.UnsupportedOperation):
        plain = space["use"](open(real, mode), steps, "b" in mode)  # noqa: SIM115 - the program closes it
    sandbox.files["compared"] = before
    found = sandbox.run(f"{_PROGRAM}\nuse(files.open('compared', {mode!r}), {steps!r}, {'b' in mode})").check()
    assert found.value == plain
    assert sandbox.files["compared"] == real.read_bytes()


def test_an_environment_without_files_says_so() -> None:
    session = Session.__new__(_Bare)
    for use in (session.list_files, lambda: session.read_file("a"), lambda: session.write_file("a", b"")):
        with pytest.raises(EnvironmentUnavailable):
            use()


class _Bare(Session):
    def execute(self, *_: Any, **__: Any) -> Any: ...
    def load_context(self, *_: Any) -> None: ...
    def assign(self, *_: Any) -> None: ...
    def alias(self, *_: Any) -> None: ...
    def read_text(self, *_: Any) -> Any: ...
    def interrupt(self) -> None: ...
    def close(self) -> None: ...
    @property
    def alive(self) -> bool:
        return True


def test_the_store_takes_exact_classes_only() -> None:
    class Name(str):
        __slots__ = ()

    functions = store.Store(5, 100).functions()
    functions["create"]("a")
    for wrong in (
        lambda: functions["read"](Name("a")),
        lambda: functions["write"]("a", 0, "text"),
        lambda: functions["write"]("a", 0, memoryview(b"a")),
    ):
        with pytest.raises(TypeError):
            wrong()
    for wrong in (lambda: functions["write"]("a", -1, b""), lambda: functions["write"]("a", True, b"")):
        with pytest.raises(ValueError, match="position"):
            wrong()


def test_what_a_write_behind_the_end_skips_counts_as_well() -> None:
    functions = store.Store(5, 100).functions()
    functions["create"]("a")
    functions["write"]("a", 89, b"x")
    functions["create"]("b")
    with pytest.raises(OSError, match="may take 100 bytes"):
        functions["write"]("b", 0, b"x" * 11)
    functions["remove"]("a")
    functions["write"]("b", 0, b"x" * 100)
