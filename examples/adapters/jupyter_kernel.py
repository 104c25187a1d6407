"""A Jupyter kernel, a process like any other (pip install jupyter_client ipykernel).

    rlm-secure audit --env examples.adapters.jupyter_kernel:open_session

The code has the rights of whoever starts the kernel. What a kernel gives is a process of its own: its crash is
not yours, and it can be interrupted and killed.
"""

from __future__ import annotations

import json
import queue
import re
import subprocess
import time
from typing import Any

import psutil
from jupyter_client.manager import start_new_kernel

from rlm_secure.testing import Adapter, Said

START_SECONDS = 60.0
#: How long code may take to react to the interrupt.
GRACE_SECONDS = 2.0
#: How often to look whether the kernel is still there, while it says nothing.
POLL_SECONDS = 0.2
#: No more characters than this are kept of what a run prints, of each stream.
MOST_PRINTED = 64 * 2**20


class JupyterKernel(Adapter):
    """One kernel. It is interrupted when a run takes too long, and killed if that does not help."""

    def __init__(self) -> None:
        self._manager, self._client = start_new_kernel(
            startup_timeout=START_SECONDS,
            kernel_name="python3",
            stdout=subprocess.DEVNULL,  # the kernel sends what the code prints, and would print it here as well
            stderr=subprocess.DEVNULL,
        )
        self._kernel = int(getattr(self._manager.provisioner, "pid", 0))
        self._over: str | None = None

    def run(self, code: str, timeout: float) -> Said:
        """Have `code` executed, and collect its streams until the kernel is idle again."""
        if self._over:
            return Said(error=self._over)
        heard = Heard()
        try:
            request = self._client.execute(code, store_history=False, allow_stdin=False)
        except UnicodeEncodeError as raised:
            return Said(error=f"not sent: {raised}")
        try:
            error = self._listen(request, heard, timeout)
        except Exception as raised:  # noqa: BLE001 - what the kernel sends is in the code's hands
            error = self._kill(f"the kernel sent what is no message: {type(raised).__name__}")
        return Said(heard.text("stdout"), heard.text("stderr"), error)

    def load_context(self, context: Any) -> None:
        """Read it from JSON in the kernel."""
        said = self.run(f"context = __import__('json').loads({json.dumps(context)!r})", START_SECONDS)
        if said.error is not None:
            raise RuntimeError(f"the context was not loaded: {said.error}")

    def close(self) -> None:
        """Kill the kernel and its children. A process that left them behind, twice forked, is not found."""
        self._kill("the session is closed")

    def _listen(self, request: str, heard: Heard, timeout: float) -> str | None:
        """Take messages until the one that says `idle`; the error, if there was one."""
        deadline, interrupted = time.monotonic() + timeout, False
        while True:
            left = deadline - time.monotonic()
            if left <= 0 and interrupted:
                return self._kill(f"stopped after {timeout:g} s; it went on after the interrupt: killed, session over")
            if left <= 0:
                self._manager.interrupt_kernel()
                deadline, interrupted = time.monotonic() + GRACE_SECONDS, True
                continue
            try:
                message = self._client.get_iopub_msg(timeout=min(left, POLL_SECONDS))
            except queue.Empty:
                if not self._manager.is_alive():
                    return self._kill("the kernel died, and the session with it")
                continue
            if message["parent_header"].get("msg_id") == request and heard.hears(message):
                return f"stopped after {timeout:g} s" if interrupted else heard.error or self._reply(request)

    def _reply(self, request: str) -> str | None:
        """What is wrong by the reply itself: an error that the kernel could not show sends no message."""
        try:
            while (reply := self._client.get_shell_msg(timeout=GRACE_SECONDS))["parent_header"]["msg_id"] != request:
                pass
        except queue.Empty:
            return "the kernel did not reply"
        content = reply["content"]
        return None if content["status"] == "ok" else f"{content.get('ename', content['status'])}: not shown"

    def _kill(self, why: str) -> str:
        if self._over:
            return why
        self._over = why
        family = descendants(self._kernel)
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
        for process in family:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                pass
        return why


class Heard:
    """What one request has made the kernel say so far."""

    def __init__(self) -> None:
        self.error: str | None = None
        self._streams: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._length = 0

    def hears(self, message: dict[str, Any]) -> bool:
        """Take in a message; whether it is the last one."""
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "stream":
            self._add(content["name"], str(content["text"]))
        elif kind == "error":
            self.error = f"{content['ename']}: {content['evalue']}"
            self._add("stderr", plain("\n".join(content["traceback"])) + "\n")
        return bool(kind == "status" and content["execution_state"] == "idle")

    def text(self, stream: str) -> str:
        """All of a stream."""
        return "".join(self._streams[stream])

    def _add(self, stream: str, text: str) -> None:
        text = text[: MOST_PRINTED - self._length]
        self._streams[stream].append(text)
        self._length += len(text)


def plain(text: str) -> str:
    """The text without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def descendants(pid: int) -> list[psutil.Process]:
    """The children of a process, and theirs."""
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return []


def open_session() -> Adapter:
    """A session of the kernel `python3`."""
    return JupyterKernel()
