"""E2B's template that runs code: its sandboxes have an IPython kernel on a port, as `e2b_code_interpreter` expects."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from tests.emulators.base import Request, Response, Sandbox, until
from tests.emulators.e2b import E2BEmulator

PROGRAM = Path(__file__).with_name("e2b_kernel.py")


class E2BCodeEmulator(E2BEmulator):
    """`packages` is where jupyter_client and ipykernel are."""

    template = "code-interpreter-v1"
    port_of_kernel = 49999

    def __init__(self, packages: Path) -> None:
        super().__init__()
        self.packages = packages
        self._kernels: dict[str, Any] = {}

    def _envd(self, request: Request) -> Response:
        box = self.sandboxes.get(request.headers["e2b-sandbox-id"])
        if box is not None and request.headers.get("e2b-sandbox-port") == str(self.port_of_kernel):
            with self.lock:
                if box.name not in self._kernels:
                    self._kernels[box.name] = self._kernel(box)
        return super()._envd(request)

    def _kernel(self, box: Sandbox) -> Any:
        variables = {
            "PYTHONPATH": str(self.packages),
            "JUPYTER_RUNTIME_DIR": str(box.home / ".runtime"),
            "IPYTHONDIR": str(box.home / ".ipython"),
            "MPLCONFIGDIR": str(box.home / ".matplotlib"),
            "OMP_NUM_THREADS": "1",
            "PATH": os.environ["PATH"],
        }
        command = [sys.executable, str(PROGRAM), str(self.port_of_kernel), str(box.home)]
        program = box.start(command, stdin=False, env=variables)
        program.keep = True
        assert until(lambda: ("stdout", b"ready\n") in program.log or program.exit.is_set()), "no kernel within the time"
        assert not program.exit.is_set(), program.log
        return program
