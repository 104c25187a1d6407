"""A service that runs Python for others: `POST /run`, each request in a sandbox of its own, behind walls and limits.

    pip install rlm-secure fastapi uvicorn
    export SERVICE_TOKEN=$(openssl rand -hex 32)    whoever has it may run code
    python examples/service.py                      listens on http://127.0.0.1:8000; --port for another

examples/service_client.py uses it. Four cells run at a time: a further request waits for two seconds, and is then told
to come back later (503). Code and context that are too long are refused (422), and so is a wrong token (401). What the
code prints is bounded by the policy, as are its time and its memory.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field

from rlm_secure import AsyncSandbox, Policy

TOKEN = os.environ["SERVICE_TOKEN"]
POLICY = Policy.load(
    {"extends": "strict", "limits": {"cell_seconds": 10.0, "memory_bytes": 256 << 20, "stdout_bytes": 100_000}}
)
PLACES = asyncio.Semaphore(4)
WAIT_SECONDS = 2.0


class Work(BaseModel):
    """What is to run. The code has the context as its variable `context`."""

    code: str = Field(max_length=20_000)
    context: str = Field(default="", max_length=1_000_000)
    seconds: float = Field(default=5.0, gt=0, le=10)


class Done(BaseModel):
    """What it printed, the value of its last expression as a notebook shows it, and why it ended early."""

    stdout: str
    value: str
    error: str | None
    message: str


def known(given: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]) -> None:
    if not secrets.compare_digest(given.credentials.encode(), TOKEN.encode()):
        raise HTTPException(401, "this token is not known here")


app = FastAPI()


@app.post("/run", dependencies=[Depends(known)])
async def run(work: Work) -> Done:
    try:
        await asyncio.wait_for(PLACES.acquire(), WAIT_SECONDS)
    except TimeoutError:
        raise HTTPException(503, "all places are taken", {"Retry-After": "5"}) from None
    try:
        async with AsyncSandbox(policy=POLICY, context=work.context) as sandbox:
            result = await sandbox.run(work.code, timeout=work.seconds)
    finally:
        PLACES.release()
    error = type(result.error).__name__ if result.error else None
    return Done(stdout=result.stdout, value=result.text, error=error, message=str(result.error or ""))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    uvicorn.run(app, host="127.0.0.1", port=parser.parse_args().port)
