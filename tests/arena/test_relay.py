"""A shared socket whose relay has no descriptor left waits, and goes on."""

from __future__ import annotations

import resource
import socket
import threading
import time
from pathlib import Path

from rlm_secure.testing.arena.relay import Relay
from tests.local.kernels import in_child


def test_a_relay_without_a_descriptor_left_goes_on_when_it_has_one(tmp_path: Path) -> None:
    def body() -> object:
        deaths: list[object] = []
        threading.excepthook = deaths.append
        with socket.socket(socket.AF_UNIX) as target, socket.socket(socket.AF_UNIX) as early, socket.socket(socket.AF_UNIX) as late:
            target.bind(str(tmp_path / "target"))
            target.listen()

            def serve() -> None:
                while True:
                    target.accept()[0].sendall(b"through")

            with Relay(tmp_path / "target", uids=()) as relay:
                limits = resource.getrlimit(resource.RLIMIT_NOFILE)
                resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
                try:
                    early.connect(relay.path)  # who was waited for is accepted, and there is nothing to pass it on to
                    late.connect(relay.path)
                    time.sleep(0.2)
                finally:
                    resource.setrlimit(resource.RLIMIT_NOFILE, limits)
                threading.Thread(target=serve, daemon=True).start()
                for each in (early, late):
                    each.settimeout(20)
                return early.recv(7) in (b"", b"through"), late.recv(7), deaths

    assert in_child(body) == "(True, b'through', [])"
