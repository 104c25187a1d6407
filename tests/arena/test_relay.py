"""A shared socket whose relay has no descriptor left waits, and goes on."""

from __future__ import annotations

import os
import resource
import socket
import threading
import time
from pathlib import Path

from rlm_secure.testing.arena.relay import Relay
from tests.local.kernels import in_child


def test_a_relay_without_a_descriptor_left_goes_on_when_it_has_one(tmp_path: Path) -> None:
    deaths: list[object] = []

    def body() -> object:
        threading.excepthook = deaths.append
        with socket.socket(socket.AF_UNIX) as target, socket.socket(socket.AF_UNIX) as early, socket.socket(socket.AF_UNIX) as late:
            target.bind(str(tmp_path / "target"))
            target.listen()
            for each in (target, early, late):
                each.settimeout(20)
            with Relay(tmp_path / "target", uids=()) as relay:
                limits = resource.getrlimit(resource.RLIMIT_NOFILE)
                held = max(map(int, os.listdir("/proc/self/fd")))
                resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
                early.connect(relay.path)  # its descriptor was there already, the one to pass on to is not
                lost = early.recv(1)
                late.connect(relay.path)
                time.sleep(0.1)  # it is not accepted meanwhile
                resource.setrlimit(resource.RLIMIT_NOFILE, (held + 50, limits[1]))
                served, _ = target.accept()
                with served:
                    served.sendall(b"through")
                    return lost, late.recv(7), deaths

    assert in_child(body) == "(b'', b'through', [])"
