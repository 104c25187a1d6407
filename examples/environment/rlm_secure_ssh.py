"""An environment of your own, as a package: sessions on another machine, which SSH reaches.

    pip install ./examples/environment
    rlm-secure doctor --policy examples/environment/policy.toml --environment ssh
    rlm-secure sandbox sweep ssh            ends what a program of this machine left when it was killed

    Sandbox("policy.toml", environment="ssh", environment_kwargs={"host": "me@box.example"})

The machine needs Linux, Python 3.11 and a login without a password; nothing is installed on it. What runs there is what
runs in every cloud: a supervisor, and a sealed worker that it starts. rlm_secure brings both, talks to them through the
connection, and checks each wall of the policy, as `report` shows. The machine's own network stays as it is: it is the
worker's walls that keep a cell from it. pyproject.toml names the class under the group `rlm_secure.environments`.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import ClassVar

from rlm_secure.broker.signed import Around
from rlm_secure.environments.cloud.base import CloudEnvironment, Made, Provider, SandboxPlan, Stream
from rlm_secure.environments.cloud.provider import ATTEMPT
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.guarantees import WallStatus
from rlm_secure.policy import Policy

FOLDER = "/tmp/rlm-secure-ssh-"
SSH = ("ssh", "-T", "-a", "-x", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15")


class SSHEnvironment(CloudEnvironment):
    """Sessions on `host` (by default RLM_SECURE_SSH_HOST), at most `max_live` at a time.

    `reach` replaces the command that runs a line of shell there, which is its last argument: for a jump host, say.
    """

    name = "ssh"

    def __init__(self, host: str = "", reach: Sequence[str] = (), ttl_seconds: int = 3600, max_live: int = 4) -> None:
        super().__init__(ttl_seconds, max_live, create_seconds=30.0, transport="exec")
        self._host, self._reach = host or os.environ.get("RLM_SECURE_SSH_HOST", ""), tuple(reach)

    def provider(self, policy: Policy | None) -> SSHProvider:  # noqa: ARG002 - every policy has the same machine
        if not self._host and not self._reach:
            raise EnvironmentUnavailable("no machine: set RLM_SECURE_SSH_HOST, or pass host")
        return SSHProvider(self._reach or (*SSH, "--", self._host))


class Failed(Exception):
    """A line of shell ended with `status`; ssh itself ends with 255."""

    def __init__(self, status: int, said: bytes) -> None:
        super().__init__(f"status {status}: {said.decode('utf-8', 'replace')}")
        self.status = status


class SSHProvider(Provider):
    """A sandbox is a folder of the machine, with the programs that run in it. They end with their connections."""

    name: ClassVar[str] = "ssh"
    network = "nothing: the machine has its own"

    def __init__(self, reach: Sequence[str]) -> None:
        self._reach, self.endpoint, self._folder = reach, " ".join(reach), ""

    async def create(self, plan: SandboxPlan) -> Made:
        self._folder = FOLDER + plan.attempt
        labels = json.dumps(dict(plan.labels)).encode() + b"\n"
        await self._shell(f"mkdir -m 755 {self._folder} && cat > {self._folder}/labels", labels)
        return Made(self._folder)

    async def put(self, name: str, data: bytes) -> str:
        path = shlex.quote(f"{self._folder}/{name}")
        await self._shell(f'mkdir -p "$(dirname {path})" && cat > {path}', data)
        return f"{self._folder}/{name}"

    async def run(self, command: str, stream: Stream) -> Command:
        return Command(await self._start(f"cd {self._folder} || exit 1; {command}"), stream)

    async def running(self) -> bool:
        return await self._shell(f"test -d {self._folder} && echo yes || echo no") == b"yes\n"

    async def destroy(self, sandbox: str) -> None:
        await self._shell(f"rm -rf -- {shlex.quote(sandbox)}")

    async def find(self, labels: Mapping[str, str]) -> list[tuple[str, Mapping[str, str]]]:
        # Other users of the machine may make a folder of such a name; what they write about it is not believed.
        listed = f'find {FOLDER}*/labels -maxdepth 0 -user "$(id -u)" -exec cat {{}} + 2>/dev/null || true'
        known = [json.loads(line) for line in (await self._shell(listed)).splitlines()]
        return [(FOLDER + each[ATTEMPT], each) for each in known if labels.items() <= each.items()]

    def walls(self, around: Around, facts: str) -> Iterator[WallStatus]:  # noqa: ARG002 - none is around the machine
        yield from ()

    def passing(self, error: BaseException) -> bool:
        return isinstance(error, Failed) and error.status == 255

    def secrets(self) -> tuple[str, ...]:
        return ()

    async def _start(self, line: str) -> Process:
        """Run a line of shell there, whatever shell the login has."""
        command = (*self._reach, f"exec sh -c {shlex.quote(line)}")
        return await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)

    async def _shell(self, line: str, data: bytes = b"") -> bytes:
        process = await self._start(line)
        output, said = await process.communicate(data)
        if process.returncode:
            raise Failed(process.returncode, said)
        return output


class Command:
    """A program there, whose output the stream gets."""

    def __init__(self, process: Process, stream: Stream) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._follower = asyncio.ensure_future(stream.follow(pieces(process.stdout), pieces(process.stderr)))

    async def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        await self._process.stdin.drain()

    async def close(self) -> None:
        await self.drop()

    async def drop(self) -> None:
        self._follower.cancel()
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


async def pieces(pipe: asyncio.StreamReader) -> AsyncIterator[bytes]:
    while piece := await pipe.read(65536):
        yield piece
