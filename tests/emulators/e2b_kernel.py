"""What listens on port 49999 of an E2B sandbox that runs code: `python e2b_kernel.py PORT`, in its folder.

A real IPython kernel stands behind it, as at E2B. `POST /execute` runs a cell, and answers with a line of JSON for each
message of the kernel. Imports only the standard library and jupyter_client. One context, and no charts as data.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from jupyter_client.manager import KernelManager, start_new_kernel

#: E2B's names for what a kernel shows.
FORMATS = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/json": "json",
}


def execute(client: Any, code: str) -> Iterator[dict[str, Any]]:
    """The lines for one cell."""
    asked = client.execute(code)
    while True:
        message = client.get_iopub_msg(timeout=60)
        kind, content = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != asked:
            continue
        if kind == "status" and content["execution_state"] == "idle":
            return
        if kind == "stream":
            yield {"type": content["name"], "text": content["text"], "timestamp": time.time_ns()}
        elif kind in ("display_data", "execute_result"):
            shown = {FORMATS[each]: value for each, value in content["data"].items() if each in FORMATS}
            yield {"type": "result", "is_main_result": kind == "execute_result", **shown}
        elif kind == "error":
            trace = "\n".join(content["traceback"])
            yield {"type": "error", "name": content["ename"], "value": content["evalue"], "traceback": trace}
        elif kind == "execute_input":
            yield {"type": "number_of_executions", "execution_count": content["execution_count"]}


def main() -> None:
    """Serve until somebody ends the process."""
    manager: KernelManager
    manager, client = start_new_kernel()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            lines = "".join(f"{json.dumps(line)}\n" for line in execute(client, body["code"])).encode()
            self.send_response(200 if self.path == "/execute" else 404)
            self.send_header("Content-Length", str(len(lines)))
            self.end_headers()
            self.wfile.write(lines)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print("ready", flush=True)
    try:
        server.serve_forever()
    finally:
        manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main()
