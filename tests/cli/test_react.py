"""`rlm-secure react` with scripted models, real tools and sandboxes, and a real OpenAI-compatible server."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.cli.conftest import COMMAND, Done, environment
from tests.cli.test_exec import busy
from tests.cli.test_interrupts import ended, started
from tests.servers import commands
from tests.servers.openai_server import OpenAIServer, Raw

#: What would clear a screen, turn a line round, end a page's element, and run in it.
HOSTILE = "\x1b[2J\u202e\x00</pre><script>alert(1)</script>"

TOOLS = '''
import time
from rlm_secure.agents import Tool
from rlm_secure.tools import ToolError

print("imported \\x1b[31m")
THREE = 3

def add(a: int, b: int) -> int:
    """Add two numbers."""
    print("adding \\x1b[31m")
    return a + b

def shout(text: str) -> str:
    """Say it aloud."""
    print(text)
    return text.upper() + "!" * 3

def fail() -> None:
    """Fail."""
    raise RuntimeError("the password is hunter2")

def wait() -> None:
    """Wait for a minute."""
    print("waiting", flush=True)
    time.sleep(60)

class Desk:
    @staticmethod
    def count(open: bool = True) -> int:
        """Count tickets."""
        return 7 if open else 8

desk = Desk()
named = Tool(add, name="plus", description="Sum.")
'''


def call(action: str, given: Any) -> str:
    return f"Thought: next\nAction: {action}\nAction Input: {json.dumps(given)}"


def scripted(*turns: str) -> list[str]:
    return ["--backend", "scripted", "--backend-arg", f"turns={json.dumps(turns)}"]


ANSWER = call("final_answer", {"answer": 42})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module of tools."""
    (tmp_path / "my_tools.py").write_text(TOOLS)
    return tmp_path


def react(folder: Path, *arguments: str, **env: str) -> Done:
    """`rlm-secure react "What is 25 + 17?" ARGUMENTS...` in the folder."""
    done = commands.run(["react", "What is 25 + 17?", *arguments], cwd=folder, env=environment(env), timeout=120)
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_tool_is_called_and_the_answer_alone_is_on_stdout(folder: Path) -> None:
    done = react(folder, "--tool", "my_tools:add", *scripted(call("add", {"a": 25, "b": 17}), ANSWER))
    assert (done.code, done.out) == (0, "42\n"), done.err
    said = done.err.splitlines()
    assert said[:2] == ["imported \\x1b[31m", "adding \\x1b[31m"]
    assert said[2].startswith("turn 1 · add · ") and said[3].startswith("turn 1 · 1 model call · ")
    assert said[-1].startswith("2 turns · 2 model calls · ")


def test_json_is_one_document_with_the_steps(folder: Path) -> None:
    turns = scripted(call("add", {"a": 25, "b": 17}), call(HOSTILE, {}), call("final_answer", {"answer": [HOSTILE]}))
    done = react(folder, "--tool", "my_tools:add", "--json", *turns)
    assert done.code == 0 and done.out.isascii() and "\x1b" not in done.out + done.err and "\u202e" not in done.err
    found = json.loads(done.out)
    assert set(found) == {
        "answer", "steps", "model", "seconds", "turns", "usage", "environment", "policy", "notices",
    }  # fmt: skip
    assert found["answer"] == [HOSTILE]
    assert [(step["action"], step["error"] is None) for step in found["steps"]] == [
        ("add", True),
        (HOSTILE, False),
        ("final_answer", True),
    ]
    assert (found["steps"][0]["observation"], found["turns"], found["policy"]) == ("42", 3, "strict")


def test_methods_tools_and_more_than_one_of_them(folder: Path) -> None:
    turns = scripted(call("count", {}), call("plus", {"a": 1, "b": 2}), ANSWER)
    done = react(folder, "--tool", "my_tools:desk.count", "--tool", "my_tools:named", "--json", *turns)
    assert [step["observation"] for step in json.loads(done.out)["steps"]] == ["7", "3", None]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("my_tools", "--tool my_tools names no function; write MODULE:FUNCTION"),
        ("my_tools:", "--tool my_tools: names no function"),
        (":add", "--tool :add names no function"),
        ("../my_tools:add", "--tool ../my_tools:add names no function"),
        ("my_tools:none", "my_tools has no none; name a function that it has"),
        ("my_tools:desk.none", "my_tools.desk has no none"),
        ("my_tools:THREE", "it is no function, but of type int; name a function"),
        ("no_such:add", "no_such cannot be imported (ModuleNotFoundError: No module named 'no_such')"),
        ("broken:add", "broken cannot be imported (ZeroDivisionError: division by zero)"),
        ("json:dumps", ""),
    ],
)
def test_a_tool_that_is_none_is_one_sentence(folder: Path, name: str, sentence: str) -> None:
    (folder / "broken.py").write_text("1 / 0")
    (folder / "json.py").write_text("raise SystemExit('shadowed')")  # the folder is searched last
    done = react(folder, "--tool", name, *scripted(ANSWER))
    assert "Traceback" not in done.err and "shadowed" not in done.err
    if sentence:
        assert (done.code, done.out) == (2, "") and sentence in done.err
    else:
        assert (done.code, done.out) == (0, "42\n"), done.err


def test_two_tools_of_one_name_and_a_name_of_the_agent(folder: Path) -> None:
    done = react(folder, "--tool", "my_tools:add", "--tool", "my_tools:add", *scripted(ANSWER))
    assert done.code == 2 and "two tools are called 'add'" in done.err
    (folder / "own.py").write_text("def final_answer(x): return x")
    done = react(folder, "--tool", "own:final_answer", *scripted(ANSWER))
    assert done.code == 2 and "'final_answer' is the agent's own tool" in done.err


def test_a_failure_is_told_without_its_text(folder: Path) -> None:
    done = react(folder, "--tool", "my_tools:fail", "--json", *scripted(call("fail", {}), ANSWER))
    assert done.code == 0 and "hunter2" not in done.out + done.err
    assert "turn 1 · fail failed: " in done.err


def test_python_has_the_context_and_the_files(folder: Path) -> None:
    (folder / "log.txt").write_text("line\n" * 10)
    (folder / "sales.csv").write_bytes(b"1,2,3")
    code = "files['out.txt'] = files['sales.csv'] + b'!'\nprint(len(context))"
    done = react(
        folder,
        *("--python", "--context", "log.txt", "--input", "sales.csv", "--output-dir", "out", "--policy", "standard"),
        *("--verbose", "--json"),
        *scripted(call("python", {"code": code}), ANSWER),
    )
    assert done.code == 0, done.err
    assert json.loads(done.out)["steps"][0]["observation"].startswith("50")
    assert (folder / "out/out.txt").read_bytes() == b"1,2,3!"
    assert "--- cell 1.1" in done.err


@pytest.mark.parametrize("option", [("--context", "x"), ("--input", "x"), ("--output-dir", "x")])
def test_what_is_for_python_needs_it(folder: Path, option: tuple[str, str]) -> None:
    done = react(folder, *option, *scripted(ANSWER))
    assert done.code == 2 and "are for --python; add it" in done.err


def test_an_answer_under_a_schema(folder: Path) -> None:
    schema = ("--schema", '{"type": "integer"}')
    done = react(folder, *schema, *scripted(call("final_answer", {"answer": "many"}), ANSWER))
    assert (done.code, done.out) == (0, "42\n")
    done = react(folder, *schema, "--max-steps", "1", *scripted(call("final_answer", {"answer": "many"})))
    assert (done.code, done.out) == (1, "")


def test_no_answer_is_1_and_nothing_to_run_is_2(folder: Path) -> None:
    done = react(folder, "--max-steps", "2", *scripted("I think.", "I think."))
    assert (done.code, done.out) == (1, "") and "no answer: the model took 2 steps" in done.err
    done = react(folder, "--python", "--timeout", "2", *scripted(call("python", {"code": "while True: pass"})))
    assert (done.code, done.out) == (1, "") and "no answer: Timeout" in done.err
    done = react(folder)
    assert done.code == 2 and "add --model NAME" in done.err


@pytest.mark.parametrize("native", [True, False])
def test_a_real_server_answers_through_the_openai_sdk(folder: Path, native: bool) -> None:
    def reply(body: dict[str, Any]) -> str | Raw:
        asked = sum(message["role"] == "assistant" for message in body["messages"])
        name, given = (("add", {"a": 25, "b": 17}), ("final_answer", {"answer": 42}))[asked]
        if not native:
            return call(name, given)
        function = {"name": name, "arguments": json.dumps(given)}
        calls = [{"id": f"c{asked}", "type": "function", "function": function}]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        head = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
        return Raw(body={**head, "choices": [choice], "usage": usage})

    with OpenAIServer(reply=reply) as server:
        how = () if native else ("--no-native-tools",)
        reach = ("--model", "test-model", "--base-url", server.base_url, "--instructions", "Be quick.")
        done = react(folder, "--tool", "my_tools:add", *how, *reach, OPENAI_API_KEY="sk-secret-of-the-test")
        bodies = [request.body for request in server.requests]
    assert (done.code, done.out) == (0, "42\n"), done.err
    assert [("tools" in body) for body in bodies] == [native, native]
    assert "Be quick." in bodies[0]["messages"][0]["content"]
    assert "42" in bodies[1]["messages"][-1]["content"]
    assert "sk-secret" not in done.out + done.err


# -- what a model and a tool write ----------------------------------------------------------------------


def test_hostile_text_is_inert_on_streams_and_in_the_log_page(folder: Path) -> None:
    turns = scripted(
        call("shout", {"text": HOSTILE}),
        call(HOSTILE, {HOSTILE: HOSTILE}),
        call("python", {"code": f"print({HOSTILE!r})"}),
        call("final_answer", {"answer": HOSTILE}),
    )
    done = react(folder, "--tool", "my_tools:shout", "--python", "--verbose", "--log-dir", "logs", *turns)
    assert done.code == 0, done.err
    assert "\x1b" not in done.out + done.err and "\u202e" not in done.err and "\x00" not in done.err
    (log,) = (folder / "logs").iterdir()
    page = subprocess.run([*COMMAND, "log", "view", str(log)], capture_output=True, timeout=60, env=environment())
    shown = page.stdout.decode()
    assert (page.returncode, page.stderr) == (0, b"")
    assert "<script" not in shown and not {"\x1b", "\u202e", "\x00"} & set(shown)
    assert "action shout" in shown and "action final_answer" in shown and "Turn 1 · react" in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    told = shown.split("Turn 2 ")[1].split("Turn 3 ")[0]
    assert told.count("is no name of a tool") == 1, "an error that the model was told is shown once"


@pytest.mark.parametrize("plain", [True, False])
def test_a_terminal_shows_colours_unless_told_not_to(folder: Path, plain: bool) -> None:
    """stdout and stderr are a terminal, as they are for a person."""
    mine, theirs = pty.openpty()
    turns = scripted(call("shout", {"text": HOSTILE}), call("none", {}), ANSWER)
    command = [*COMMAND, "react", "?", "--tool", "my_tools:shout", *turns]
    extra = {"TERM": "xterm-256color", **({"NO_COLOR": "1"} if plain else {})}
    process = subprocess.Popen(
        command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(extra), start_new_session=True
    )
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(mine, 65536):
            seen += piece
    except OSError:  # how a terminal says that nobody has it any more
        pass
    finally:
        os.close(mine)
    assert process.wait(60) == 0, seen
    assert b"\x1b[2J" not in seen and "\u202e".encode() not in seen and b"\\x1b[2J" in seen
    assert b"42\r\n" in seen
    assert (b"\x1b[33m" in seen) is not plain  # the line of the call that was refused


# -- interrupts -------------------------------------------------------------------------------------------


def test_ctrl_c_while_a_tool_waits(folder: Path) -> None:
    with started(
        "react", "?", "--tool", "my_tools:wait", *scripted(call("wait", {})), PYTHONPATH=str(folder)
    ) as process:
        assert process.stderr is not None
        while b"waiting" not in process.stderr.readline():
            assert process.poll() is None
        assert ended(process)[-1] == "interrupted"


def test_ctrl_c_while_a_cell_loops() -> None:
    with started("react", "?", "--python", *scripted(call("python", {"code": "while True: pass"}))) as process:
        while not busy(psutil.Process(process.pid).children(recursive=True)):
            assert process.poll() is None
            time.sleep(0.02)
        assert ended(process) == ["interrupted"]
