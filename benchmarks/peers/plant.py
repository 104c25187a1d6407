"""What probes are after, in an arena: `python -I plant.py CONTROL COMMAND...` plants it, and starts COMMAND beside it.

A file with a secret, a directory, listeners, another process, and a secret in the environment of COMMAND. Over the
descriptor CONTROL it answers lines of JSON: `facts` says where everything is, `look` what became of it.
"""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import threading
from pathlib import Path

UNTOUCHED = "as it was\n"
MARK = "decoy-of-the-host"


class Listeners:
    """Sockets that count who speaks to them."""

    def __init__(self, folder: Path) -> None:
        self.heard: list[str] = []
        self.tcp, self.udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        self.path, self.abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        self.tcp.bind(("127.0.0.1", 0))
        self.udp.bind(("127.0.0.1", 0))
        self.path.bind(str(folder / "socket"))
        self.abstract.bind(f"\0{MARK}")
        for each in (self.tcp, self.path, self.abstract):
            each.listen()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        named = {self.tcp: "tcp", self.udp: "udp", self.path: "path", self.abstract: "abstract"}
        while True:
            for each in select.select(list(named), [], [])[0]:
                if each is self.udp:
                    each.recv(100)
                else:
                    each.accept()[0].close()
                self.heard.append(named[each])


def main() -> None:
    """Plant, start, and answer until the other end closes."""
    control, command = socket.socket(fileno=int(sys.argv[1])), sys.argv[2:]
    asked = control.makefile("rw")
    secrets = json.loads(asked.readline())
    folder = Path("/tmp/host-of-the-probes")  # the arena's own /tmp
    folder.mkdir()
    (folder / "secret.txt").write_text(secrets["file"], encoding="ascii")
    (folder / "written.txt").write_text(UNTOUCHED, encoding="ascii")
    work = Path("/tmp/work-of-the-probes")
    work.mkdir()
    listeners = Listeners(folder)
    sleeper = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
    decoy = subprocess.Popen([*sleeper, MARK + secrets["decoy"]])
    priority = os.getpriority(os.PRIO_PROCESS, decoy.pid)
    host = subprocess.Popen(
        command,
        pass_fds=[int(each) for each in command if each.isdigit()],
        env={**os.environ, "SECRET_OF_THE_HOST": secrets["environment"]},
        stdin=subprocess.DEVNULL,
        cwd=work,
    )
    known = {path.name for path in folder.iterdir()}
    facts = {
        "FOLDER": str(folder), "TCP": listeners.tcp.getsockname()[1], "UDP": listeners.udp.getsockname()[1],
        "ABSTRACT": MARK, "DECOY": decoy.pid, "HOST": host.pid,
    }  # fmt: skip
    for line in asked:
        if line.strip() == "facts":
            answer: dict[str, object] = facts
        else:
            listed = {path.name for path in folder.iterdir()}
            try:
                written = (folder / "written.txt").read_text(encoding="ascii")
                mode = (folder / "written.txt").stat().st_mode & 0o777
            except (OSError, ValueError):
                written, mode = "gone", 0
            answer = {
                "written": written != UNTOUCHED or mode & 0o111 != 0 or listed != known,
                "heard": sorted(set(listeners.heard)),
                "decoy": decoy.poll() is None and os.getpriority(os.PRIO_PROCESS, decoy.pid) == priority,
                "host": host.poll() is None,
            }
        asked.write(json.dumps(answer) + "\n")
        asked.flush()


if __name__ == "__main__":
    main()
