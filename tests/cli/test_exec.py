"""`rlm-secure exec`, in real processes and real sessions."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from rlm_secure import cli
from rlm_secure.cli import exec_
from tests.cli.conftest import COMMAND, Run, environment


def test_output_goes_to_stdout(rlm_secure: Run) -> None:
    done = rlm_secure("exec", "-c", "print(sum(range(10)))")
    assert (done.code, done.out, done.err) == (0, "45\n", "")


def test_the_value_of_the_last_expression_is_printed(rlm_secure: Run) -> None:
    done = rlm_secure("exec", "-c", "print('said')\n[n for n in range(3)]")
    assert (done.code, done.out, done.err) == (0, "said\n[0, 1, 2]\n", "")
    done = rlm_secure("exec", "-c", "chr(27) + '[31m'")
    assert (done.code, done.out) == (0, "'\\x1b[31m'\n")
    done = rlm_secure("exec", "--json", "-c", "x = {1}\n(x, 2)")
    found = json.loads(done.out)
    assert (found["value"], found["text"]) == ({"$tuple": [{"$set": [1]}, 2]}, "({1}, 2)")
    assert found["values"] == {"x": {"$set": [1]}}


def test_a_file_and_stdin_are_sources(rlm_secure: Run, tmp_path: Path) -> None:
    (tmp_path / "cell.py").write_text("print('from a file')")
    assert rlm_secure("exec", str(tmp_path / "cell.py")).out == "from a file\n"
    assert rlm_secure("exec", "-", stdin="print('from stdin')").out == "from stdin\n"


def test_the_context_is_bound(rlm_secure: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo")
    done = rlm_secure("exec", "-c", "print(repr(context))", "--context", str(tmp_path / "a.txt"))
    assert (done.code, done.out) == (0, "'one\\r\\ntwo'\n")
    done = rlm_secure("exec", "-c", "print(sorted(context))", "--context", str(tmp_path))
    assert (done.code, done.out) == (0, "['a.txt']\n")


def test_an_exception_is_1_with_its_traceback_once(rlm_secure: Run) -> None:
    done = rlm_secure("exec", "-c", "print('before')\n1/0")
    assert (done.code, done.out) == (1, "before\n")
    assert done.err.count("ZeroDivisionError") == 1


def test_a_refusal_is_1_and_names_its_rule(rlm_secure: Run) -> None:
    done = rlm_secure("exec", "-c", "print(().__globals__)")
    assert (done.code, done.out) == (1, "")
    assert "__globals__" in done.err


def test_a_timeout_is_1_and_says_so(rlm_secure: Run) -> None:
    started = time.monotonic()
    done = rlm_secure("exec", "-c", "while True:\n    pass", "--timeout", "0.5")
    assert done.code == 1
    assert "rlm-secure exec: stopped:" in done.err
    assert time.monotonic() - started < 25, "the policy itself gives 30 s"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["exec", "/no/such/file.py"], "cannot be read: No such file or directory"),
        (["exec", "-c", "1", "--policy", "no-such-policy"], "no-such-policy"),
        (["exec", "-c", "1", "--environment", "basement"], "basement"),
        (["exec", "-c", "1", "--context", "/no/such/context"], "cannot be read"),
    ],
)
def test_what_cannot_run_is_2_with_one_sentence(rlm_secure: Run, arguments: list[str], sentence: str) -> None:
    done = rlm_secure(*arguments)
    assert (done.code, done.out) == (2, "")
    assert sentence in done.err
    assert "Traceback" not in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_json_has_result_error_and_report(rlm_secure: Run) -> None:
    done = rlm_secure("exec", "--json", "-c", "x = 41 + 1\nprint('\\x1b[31m')\nraise ValueError('no')")
    assert done.code == 1
    assert "\x1b" not in done.out
    found = json.loads(done.out)
    assert found["stdout"] == "\x1b[31m\n"
    assert found["locals"]["x"] == 42
    assert found["error"]["type"] == "CellException"
    assert found["report"]["environment"] == "local"
    assert found["report"]["guarantees"]["no-network"] == "full"


def test_escape_sequences_are_inert_in_a_pipe(rlm_secure: Run) -> None:
    done = rlm_secure("exec", "-c", "print('\\x1b[2J\\x9b31m\\r|')")
    assert (done.code, done.out) == (0, "\\x1b[2J\\x9b31m\r|\n")


def test_every_control_character_is_inert_on_a_terminal() -> None:
    hostile = "print('\\x1b]0;owned\\x07', 'good\\revil', '\\u202etxt', '\\ud800')\n1/0"
    assert on_terminal("exec", "-c", hostile).startswith("\\x1b]0;owned\\a good\\revil \\u202etxt \\ud800\r\n")


def test_colours_are_for_terminals_and_no_color_ends_them() -> None:
    arguments = ("exec", "-c", "while True:\n    pass", "--timeout", "0.3")
    assert "\x1b[" in on_terminal(*arguments)
    assert "\x1b[" not in on_terminal(*arguments, NO_COLOR="1")


def on_terminal(*arguments: str, **variables: str) -> str:
    """What `rlm-secure ARGUMENTS` writes when all its streams are a terminal."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=child,
        stdout=child,
        stderr=child,
        env=environment({"TERM": "xterm-256color", **variables}),
    )
    os.close(child)
    written = b""
    try:
        while select.select([parent], [], [], 60)[0]:
            try:
                piece = os.read(parent, 65536)
            except OSError:  # Linux says EIO when the last writer is gone
                break
            if not piece:
                break
            written += piece
        process.wait(30)
    finally:
        process.kill()
        os.close(parent)
    return written.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_everything_with_its_code(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [*COMMAND, "exec", "-c", "print('x' * 10)\nwhile True:\n    pass"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    try:
        family = psutil.Process(process.pid)
        deadline = time.monotonic() + 30
        while not busy(children := family.children(recursive=True)):
            assert time.monotonic() < deadline, "the cell never ran"
        process.send_signal(number)
        _, err = process.communicate(timeout=90)
        assert process.returncode == 128 + number
        assert b"interrupted" in err
        assert b"Traceback" not in err
        _, alive = psutil.wait_procs(children, timeout=5)
        assert alive == []
    finally:
        process.kill()


def busy(processes: list[psutil.Process]) -> bool:
    """Whether one of the processes has used a second of CPU: a start takes far less, a loop soon more."""
    time.sleep(0.05)
    return any(cpu(each) > 1 for each in processes)


def cpu(process: psutil.Process) -> float:
    """CPU seconds of a process; 0 when it is gone."""
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)


def test_a_reader_that_leaves_early_is_no_crash() -> None:
    process = subprocess.Popen(
        [*COMMAND, "exec", "-c", "print('x' * 500_000)"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(30) == 2
    assert err == b""


def test_half_of_a_program_is_not_run_where_stdin_does_not_wait(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe2(os.O_NONBLOCK)
    with os.fdopen(reading) as stdin, os.fdopen(writing, "w") as sender:
        monkeypatch.setattr("sys.stdin", stdin)
        sender.write("delete = True\n")
        sender.flush()
        with pytest.raises(SystemExit):
            exec_._source("-")
    assert "- cannot be read: Resource temporarily unavailable; name a Python file" in capsys.readouterr().err


def test_one_cell_needs_neither_the_model_of_policies_nor_other_commands() -> None:
    code = (
        "import sys\n"
        "from rlm_secure.cli import main\n"
        "assert main(['exec', '-c', '6 * 7']) == 0\n"
        "loaded = {name for name in sys.modules if name.split('.')[0] in ('pydantic', 'rich', 'openai')}\n"
        "print(loaded, sorted(name for name in sys.modules if name.startswith('rlm_secure.cli.')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    commands = [f"rlm_secure.cli.{name}" for name in ("exec_", "options", "terminal", "transfer")]
    assert done.stdout == f"42\nset() {commands}\n", done.stderr


def test_every_command_is_in_the_whole_parser_and_alone() -> None:
    whole = cli.parser().format_help()
    for name in cli._COMMANDS:
        assert f"\n    {name} " in whole
        with pytest.raises(SystemExit) as ended:
            cli.main([name, "--help"])
        assert ended.value.code == 0
