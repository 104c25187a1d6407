"""The OpenAPI file, the document and the code say the same; and the supervisor keeps what the file says."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import rlm_secure.broker
from rlm_secure.broker import client
from rlm_secure.guest.supervisor import http, server, supervisor, uploads
from tests.broker.support import ListeningLease, Raw, session
from tests.effort import examples

FOLDER = Path(rlm_secure.broker.__file__).parent
DOCUMENT = json.loads((FOLDER / "openapi.json").read_text(encoding="utf-8"))
PROTOCOL = (FOLDER / "PROTOCOL.md").read_text(encoding="utf-8")
GUEST = Path(supervisor.__file__).parent


def routes_of_the_file() -> set[tuple[str, str]]:
    return {(method.upper(), path.removesuffix("/{n}")) for path, item in DOCUMENT["paths"].items() for method in item}


def test_the_file_has_the_routes_of_the_code_and_no_other() -> None:
    assert routes_of_the_file() == set(supervisor.ROUTES)


def test_the_document_has_the_routes_of_the_code_and_no_other() -> None:
    named = {tuple(match.split()) for match in re.findall(r"^\| `([A-Z]+ /[a-z]+)", PROTOCOL, re.MULTILINE)}
    assert named == set(supervisor.ROUTES)


def rules_of_the_code() -> set[tuple[int, str]]:
    found = set()
    for name in ("bodies.py", "http.py", "server.py", "supervisor.py", "uploads.py"):
        text = (GUEST / name).read_text(encoding="utf-8")
        for status, rule in re.findall(r'HttpError\(([0-9]{3}|405 if known else 404), "([a-z-]+)"', text):
            found |= {(int(each), rule) for each in re.findall(r"[0-9]{3}", status)}
        found |= {
            (int(status), rule) for status, rule in re.findall(r'([0-9]{3}), \{"error": .*"rule": "([a-z-]+)"', text)
        }
    return found


def test_the_document_lists_every_refusal_with_its_status() -> None:
    table = PROTOCOL.partition("| status | rules |")[2].partition("\n\n")[0]
    listed = {
        (int(row.split("|")[1]), rule)
        for row in table.splitlines()
        if re.match(r"\| [0-9]{3} ", row)
        for rule in re.findall(r"`([a-z-]+)`", row)
    }
    assert listed == rules_of_the_code()


def test_every_status_has_a_reason_phrase() -> None:
    assert {status for status, _ in rules_of_the_code()} <= set(http.REASONS)


def test_the_measures_in_the_document_are_those_of_the_code() -> None:
    assert (http.MAX_HEAD, http.MAX_HEADERS, server.MAX_CONNECTIONS) == (32 * 1024, 64, 16)
    assert (uploads.MAX_CHUNK, supervisor.MAX_BODY, supervisor.SMALL_BODY) == (8 << 20, 256 << 20, 64 << 10)
    assert (supervisor.REMEMBERED, supervisor.MAX_WAIT, supervisor.ENQUEUED_SECONDS, supervisor.MAX_ENQUEUED) == (
        256,
        60,
        300,
        64,
    )
    assert client.CHUNK <= uploads.MAX_CHUNK
    assert client.VERSION == supervisor.VERSION == int(DOCUMENT["info"]["version"])
    chunk = DOCUMENT["paths"]["/context/{n}"]["put"]["requestBody"]["content"]["application/octet-stream"]["schema"]
    assert chunk["maxLength"] == uploads.MAX_CHUNK
    for words in (
        "32 KiB, 64 headers",
        "8 MiB for a chunk, 256 MiB for a frame, 64 KiB",
        "last 256 ids",
        "at most 60",
        "300 s",
    ):
        assert words in PROTOCOL


def schema_of(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}


def test_real_answers_fit_their_schemas(raw) -> None:
    def check(name: str, status: int, message: dict[str, Any]) -> dict[str, Any]:
        assert status == 200
        jsonschema.validate(message, schema_of(name))
        return message

    check("Health", *raw.ask("GET", "/health"))
    raw.send(b"GET /health HTTP/1.1\r\n\r\n")
    assert check("Health", *raw.ask("GET", "/health"))["refused"]
    cell = json.dumps({"op": "exec", "code": "llm_query('x')"}).encode()
    asked = check("Events", *raw.ask("POST", "/execute?wait=5", cell))
    body = json.dumps({"id": asked["pending"][0]["id"], "response": {"value": "y"}}).encode()
    assert check("Events", *raw.ask("POST", "/respond?wait=5", body))["worker"] == "idle"
    check("Received", *raw.ask("PUT", "/context/1?offset=0&total=2", b"x"))
    check("Done", *raw.ask("DELETE", "/context/1"))
    check("State", *raw.ask("POST", "/interrupt", b'{"grace_seconds": 0}'))
    for status, message in (raw.ask("GET", "/nothing"), raw.send(b"GET / HTTP/1.1\r\n\r\n")):
        assert status >= 400
        jsonschema.validate(message, schema_of("Refusal"))


def test_the_end_of_a_worker_fits_its_schema() -> None:
    with session(kind=ListeningLease, screen=False) as opened:
        raw = Raw(opened.lease)
        cell = json.dumps({"op": "exec", "code": "import os; os._exit(3)"}).encode()
        status, message = raw.ask("POST", "/execute?wait=5", cell)
        assert (status, message["worker"]) == (200, "none")
        jsonschema.validate(message, schema_of("Events"))
        assert message["pending"][0]["end"]["status"] is not None
        started = json.dumps({"limits": {"NPROC": 0}, "profile": "worker", "frame_bytes": 4096}).encode()
        jsonschema.validate(raw.ask("POST", "/session", started)[1], schema_of("Started"))


# -- schemathesis: what the file promises, asked of the live supervisor -----------------------------------------

api = schemathesis.openapi.from_dict(DOCUMENT)
CHECKS = (
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
)


@api.include(path_regex="^/(health|session|context|execute|pending|respond|interrupt)").parametrize()
@settings(max_examples=examples(30), deadline=None, suppress_health_check=list(HealthCheck))
def test_the_supervisor_keeps_what_the_file_promises(case, raw) -> None:
    if case.operation.path == "/execute":  # there is a worker to speak to, however the last one ended
        raw.ask("POST", "/session", json.dumps({"limits": {}, "profile": "worker", "frame_bytes": 4096}).encode())
        raw.ask("GET", "/pending?wait=5")
    arguments = case.as_transport_kwargs(base_url=f"http://127.0.0.1:{raw.lease.address[1]}")
    for name in ("Rlm-Id", "Rlm-Sha256", "Rlm-Mac"):
        arguments["headers"].pop(name, None)
    if "wait=" in str(arguments.get("params")):
        arguments["params"] = {**arguments["params"], "wait": "0"}
    request = requests.Request(
        **{k: v for k, v in arguments.items() if k in ("method", "url", "headers", "params", "data", "json")}
    )
    prepared = request.prepare()
    body = prepared.body or b""
    body = body.encode("utf-8") if isinstance(body, str) else bytes(body)
    prepared.body = body
    prepared.headers["Content-Length"] = str(len(body))
    target = prepared.path_url
    if not target.isascii():
        return
    key = raw.lease.key
    prepared.headers.update(key.headers(raw.next(), prepared.method, target, hashlib.sha256(body).hexdigest()))
    with requests.Session() as plain:
        plain.trust_env = False
        response = plain.send(prepared, timeout=20)
    signed = "Rlm-Mac" in response.headers
    case.validate_response(response, checks=CHECKS if signed else CHECKS[:3])
    assert response.status_code < 500 or response.json()["rule"] in ("http-version", "zygote", "context-memory")
