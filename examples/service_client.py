"""A client of examples/service.py, which says how to start it.

    python examples/service_client.py    with its SERVICE_TOKEN, and its SERVICE_URL if that is another

It prints:

    {'stdout': '3 lines\\n', 'value': "'two'", 'error': None}
    {'stdout': '', 'value': '', 'error': 'CellRefused'}
    {'stdout': 'begins\\n', 'value': '', 'error': 'CellTimeout'}
    without the token: 401
    six at once: [0, 1, 4, 9, 16, 25]
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

import httpx

URL = os.environ.get("SERVICE_URL", "http://127.0.0.1:8000")
TOKEN = os.environ["SERVICE_TOKEN"]


async def run(client: httpx.AsyncClient, **work: Any) -> dict[str, Any]:
    """What the service says of one piece of work. Raises httpx.HTTPStatusError where it is refused."""
    answer = await client.post("/run", json=work, headers={"Authorization": f"Bearer {TOKEN}"})
    said: dict[str, Any] = answer.raise_for_status().json()
    return said


async def main() -> None:
    async with httpx.AsyncClient(base_url=URL, timeout=30) as client:
        for work in (
            {"code": "lines = context.split()\nprint(len(lines), 'lines')\nlines[1]", "context": "one\ntwo\nthree"},
            {"code": "import socket"},
            {"code": "print('begins')\nwhile True: pass", "seconds": 0.5},
        ):
            said = await run(client, **work)
            print({name: said[name] for name in ("stdout", "value", "error")})
        print("without the token:", (await client.post("/run", json={"code": "1"})).status_code)
        six = await asyncio.gather(*(run(client, code=f"{number} ** 2") for number in range(6)))
        print("six at once:", [int(said["value"]) for said in six])


if __name__ == "__main__":
    asyncio.run(main())
