"""A Jupyter kernel: IPython in a process of its own, driven by jupyter_client, interrupted and then killed."""

from __future__ import annotations

import queue
import subprocess
import tempfile
import time
from pathlib import Path

from jupyter_client.manager import start_new_kernel

from benchmarks.peers.peer import Missing, Model, Peer, Said, Session

START_SECONDS = 60.0
GRACE_SECONDS = 2.0


class Adapter(Peer):
    """One kernel for each session."""

    packages = ("jupyter_client", "ipykernel")

    def open(self, model: Model | None = None) -> Session:
        if model is not None:
            raise Missing("a kernel has no way to ask its host")
        return Kernel(self.limits.seconds)


class Kernel(Session):
    """One kernel and its client."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._over = ""
        self._manager, self._client = start_new_kernel(
            startup_timeout=START_SECONDS, kernel_name="python3", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def run(self, code: str) -> Said:
        if self._over:
            return Said(error=self._over)
        request = self._client.execute(code, store_history=False, allow_stdin=False)
        printed: list[str] = []
        error, interrupted, deadline = None, False, time.monotonic() + self._seconds
        while True:
            if time.monotonic() > deadline:
                if interrupted:
                    self._over = "it went on after the interrupt: killed, and the session with it"
                    self._manager.shutdown_kernel(now=True)
                    return Said("".join(printed), self._over)
                self._manager.interrupt_kernel()
                interrupted, deadline = True, time.monotonic() + GRACE_SECONDS
            try:
                message = self._client.get_iopub_msg(timeout=0.2)
            except queue.Empty:
                if not self._manager.is_alive():
                    self._over = "the kernel ended, and the session with it"
                    return Said("".join(printed), self._over)
                continue
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["header"]["msg_type"], message["content"]
            if kind == "stream":
                printed.append(content["text"])
            elif kind == "error":
                error = f"{content['ename']}: {content['evalue']}"
            elif kind == "status" and content["execution_state"] == "idle":
                return Said("".join(printed), error)

    def load(self, text: str) -> None:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", delete=False) as file:
            file.write(text)
        said = self.run(f"with open({file.name!r}, encoding='utf-8') as file:\n    context = file.read()")
        Path(file.name).unlink()
        if said.error is not None:
            raise RuntimeError(said.error)

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)
