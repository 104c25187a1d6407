"""The service of the examples, on loopback: its client, and what it refuses."""

from __future__ import annotations

import asyncio
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.examples.programs import EXAMPLES, environment, promised, run

TOKEN = "of-the-service-4711"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where it listens: on a free port."""
    log = tmp_path_factory.mktemp("service") / "log"
    command = [sys.executable, str(EXAMPLES / "service.py"), "--port", "0"]
    variables = environment(SERVICE_TOKEN=TOKEN)
    with log.open("w") as writes, subprocess.Popen(command, stderr=writes, stdout=writes, env=variables) as service:
        try:
            with log.open() as reads:
                said = ""
                while (found := re.search(r"running on (http://127\.0\.0\.1:[0-9]+)", said)) is None:
                    assert service.poll() is None, said
                    said += reads.readline()
            yield found.group(1)
        finally:
            service.terminate()
            service.wait(60)


def test_its_client_prints_what_it_says(url: str, tmp_path: Path) -> None:
    client = EXAMPLES / "service_client.py"
    done = run(client, tmp_path, SERVICE_URL=url, SERVICE_TOKEN=TOKEN)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", promised(client))


@pytest.mark.parametrize(
    ("work", "token", "status"),
    [
        ({"code": "1"}, "another", 401),
        ({"code": "1"}, "b\u00fcro", 401),
        ({"code": "1" * 20_001}, TOKEN, 422),
        ({"code": "1", "context": "1" * 1_000_001}, TOKEN, 422),
        ({"code": "1", "seconds": 11}, TOKEN, 422),
    ],
)
def test_what_it_refuses(url: str, work: dict[str, object], token: str, status: int) -> None:
    headers = {b"authorization": b"Bearer " + token.encode()}
    assert httpx.post(f"{url}/run", json=work, headers=headers, timeout=60).status_code == status


async def asked(app: Any) -> tuple[int, str | None]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
        answer = await client.post("/run", json={"code": "1"}, headers={"authorization": f"Bearer {TOKEN}"})
        return answer.status_code, answer.headers.get("retry-after") or answer.json()["value"]


def test_a_request_too_many_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same program, without a socket: its places are taken, and one is given back."""
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setenv("SERVICE_TOKEN", TOKEN)
    service = importlib.import_module("service")
    monkeypatch.setattr(service, "WAIT_SECONDS", 0.05)

    async def answers() -> list[tuple[int, str | None]]:
        for _ in range(4):
            await service.PLACES.acquire()
        found = [await asked(service.app)]
        service.PLACES.release()
        monkeypatch.setattr(service, "WAIT_SECONDS", 60.0)
        return [*found, await asked(service.app), await asked(service.app)]

    assert asyncio.run(answers()) == [(503, "5"), (200, "1"), (200, "1")]
