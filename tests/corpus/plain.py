"""Runs cells as plain Python: each in a fork of this clean process, in the current folder, with nothing on stdin.

Reads {"context": text, "cells": {name: source}} as JSON on stdin, and prints {name: [stdout, class]} as JSON, where the
class is the name of that of the exception which ended the cell, or "", as after an exit without an error. The modules
that cells import most are imported before the first fork, which saves the time and changes nothing.

With "files": {name: text} each cell is in a new folder of its own with those files, and its result has a third part:
{name: bytes as Base64} of the files that it wrote, and a fourth: its stderr. "imports" names further modules to import
before the first fork, "absent" those that it is not to find.
"""

from __future__ import annotations

import asyncio  # noqa: F401 - here and below: for the forks
import base64
import collections  # noqa: F401
import concurrent.futures  # noqa: F401
import csv  # noqa: F401
import dataclasses  # noqa: F401
import decimal  # noqa: F401
import enum  # noqa: F401
import importlib
import io
import json
import logging  # noqa: F401
import os
import statistics  # noqa: F401
import sys
import tempfile
import time
import types
import typing  # noqa: F401
import urllib.parse  # noqa: F401
import zoneinfo  # noqa: F401
from pathlib import Path
from typing import Any


def reply(prompt: str) -> str:
    """The answer of the model in this corpus, the same for the same prompt."""
    return f"answer to {len(prompt)} characters from {prompt.splitlines()[0][:30]!r}"


def run(source: str, context: str) -> tuple[str, str]:
    """What `source` prints as the main program, and the class of the exception that ended it, or ""."""

    def llm_query(prompt: str, model: str | None = None) -> str:
        return reply(prompt)

    def llm_query_batched(prompts: list[str], model: str | None = None) -> list[str]:
        return [reply(prompt) for prompt in prompts]

    module = sys.modules["__main__"] = types.ModuleType("__main__")
    vars(module).update(
        context=context,
        llm_query=llm_query,
        llm_query_batched=llm_query_batched,
        rlm_query=llm_query,
        rlm_query_batched=llm_query_batched,
        SHOW_VARS=lambda: "Available variables: {}",
        FINAL_VAR=lambda name: name,
        answer={"content": "", "ready": False},
    )
    out = io.StringIO()
    sys.stdin, sys.stdout, sys.stderr = io.StringIO(), out, io.StringIO()
    try:
        exec(compile(source, "<cell>", "exec", dont_inherit=True), vars(module))
    except BaseException as error:
        if type(error) is SystemExit and not error.code:
            return out.getvalue(), ""  # a success, as Python itself reports it
        return out.getvalue(), type(error).__name__
    return out.getvalue(), ""


def run_with_files(source: str, context: str, files: dict[str, str]) -> list[Any]:
    """The same in the current folder, with those files in it; see above."""
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    printed, ended = run(source, context)
    written = {path.name: path.read_bytes() for path in Path().iterdir()}
    new = {name: data for name, data in written.items() if data != files.get(name, "").encode()}
    shown = {name: base64.b64encode(data).decode() for name, data in sorted(new.items())}
    return [printed, ended, shown, sys.stderr.getvalue()]  # type: ignore[attr-defined]


def forked(source: str, context: str, files: dict[str, str] | None = None) -> Any:
    """The result of run() in a fork."""
    folder = None if files is None else tempfile.mkdtemp(dir=".")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with open(writer, "w", encoding="utf-8") as pipe:
            if files is None or folder is None:
                json.dump(run(source, context), pipe)
            else:
                os.chdir(folder)
                json.dump(run_with_files(source, context, files), pipe)
        os._exit(0)
    os.close(writer)
    with open(reader, encoding="utf-8") as pipe:
        result = json.load(pipe)
    os.waitpid(child, 0)
    return result


def main() -> None:
    """Run them all."""
    os.environ["TZ"] = "UTC"  # as a session has it
    time.tzset()
    given = json.load(sys.stdin)
    for name in given.get("absent", ()):
        sys.modules[name] = None  # type: ignore[assignment]
    for name in given.get("imports", ()):
        importlib.import_module(name)
    results = {name: forked(source, given["context"], given.get("files")) for name, source in given["cells"].items()}
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
