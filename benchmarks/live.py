"""`make live PROVIDER=e2b`: a session with a real provider, with your account. Not part of any test.

Starts real sandboxes (which cost money), tests what the emulators cannot show, ends them, and writes a dated
report to `live-<provider>-<date>.json`: the walls and their evidence, times, results of attacks, and whether
anything was left. OPTIONS is a JSON object of the environment's own options ({"template": "..."}).
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rlm_secure.environments.cloud.provider import UNRENEWED_SECONDS
from rlm_secure.environments.registry import create_environment
from rlm_secure.errors import CellTimeout, RLMSecureError
from rlm_secure.guarantees import Level, Wall
from rlm_secure.policy import Policy, load_policy
from rlm_secure.testing import arena, corpus, judge, verdict
from rlm_secure.testing.arena.paths import Share
from rlm_secure.testing.bare import Unscreened
from rlm_secure.testing.target import Target

PROVIDERS = ("e2b", "daytona", "modal", "prime", "kubernetes")
_CONTEXT_BYTES = 20_000_000
#: Number of attacks on each layer. Each needs a few sandboxes of its own.
_ATTACKS = 8


def main(arguments: list[str] | None = None) -> int:
    """Run, write the report, and return 0 if every step succeeded."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live", description=__doc__)
    parser.add_argument("provider", choices=PROVIDERS)
    parser.add_argument("--options", default="{}", help="options of the environment, as JSON")
    parser.add_argument("--slow", action="store_true", help="also wait for the end of a sandbox that nobody renews")
    parser.add_argument("--yes", action="store_true", help="do not ask: it starts sandboxes on your account")
    given = parser.parse_args(arguments)
    if not arena.outside():  # the second run, started by _in_arena below
        print(json.dumps(run(given.provider, json.loads(given.options), slow=given.slow)))
        return 0
    if not given.yes and input(f"Start sandboxes on your {given.provider} account? [y/N] ").strip().lower() != "y":
        return 2
    report = _in_arena(given.provider, given.options, *(["--slow"] if given.slow else []))
    path = Path(f"live-{given.provider}-{report['started'][:10]}.json")
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    for name, step in report["steps"].items():
        print(f"{'ok    ' if step['ok'] else 'FAILED'} {step['seconds']:7.2f} s  {name}: {step['said']}")
    print(f"the report is in {path}")
    return 0 if all(step["ok"] for step in report["steps"].values()) else 1


def _in_arena(provider: str, options: str, *more: str) -> dict[str, Any]:
    """As `run`, but in an arena, with the host's network and the provider's environment variables."""
    variables = tuple(name for name in os.environ if name.startswith(f"{provider.upper()}_"))
    shares = [Share(str(Path.cwd()))]
    if provider == "kubernetes":  # its key is a file: one with a token, as plugins are out of reach
        path = Path(json.loads(options).get("kubeconfig") or os.environ.get("KUBECONFIG") or "~/.kube/config")
        shares.append(Share(str(path.expanduser().resolve())))
        options = json.dumps({**json.loads(options), "kubeconfig": shares[-1].path})
    given = arena.Arena(tuple(shares), network=True, variables=variables)
    command = [sys.executable, "-m", "benchmarks.live", provider, "--options", options, *more]
    with given.start(command, stdout=subprocess.PIPE) as running:
        assert running.process.stdout is not None
        report: dict[str, Any] = json.loads(running.process.stdout.read() or b"{}")
    return report


def run(provider: str, options: dict[str, Any], *, slow: bool = False) -> dict[str, Any]:
    """Run all steps and return the report as a JSON value. A failed step is not ok; the steps after it still run.

    The pages in sandboxes/ name the steps: what each answers, and what follows if the answer is no.
    """
    policy = load_policy("strict")
    environment: Any = create_environment(provider, **options)
    report: dict[str, Any] = {
        "provider": provider,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "steps": {},
    }

    def step(name: str, do: Callable[[], str]) -> None:
        began = time.monotonic()
        try:
            said, ok = do(), True
        except (AssertionError, RLMSecureError) as error:
            said, ok = f"{type(error).__name__}: {error}", False
        report["steps"][name] = {"ok": ok, "seconds": round(time.monotonic() - began, 3), "said": said}

    opened: list[Any] = []

    def start() -> str:
        opened.append(environment.open(policy))
        return "all required walls hold"

    step("a session starts", start)
    if not opened:
        return report
    (session,) = opened
    report["enforcement"] = session.report.to_dict()
    try:
        step("its network is blocked", lambda: _blocked(session))
        step("a round trip", lambda: _round_trip(session))
        step("a context of 20 MB", lambda: _context(session))
        step("a sandbox that is lost costs one cell", lambda: _lost(session))
        step("a cell that does not end is stopped, and the session goes on", lambda: _timeout(session))
    finally:
        step("it ends", lambda: session.close() or "and its sandbox with it")
    for layer in (corpus.Layer.LANGUAGE, corpus.Layer.KERNEL):
        step(f"{_ATTACKS} attacks on the {layer.value} layer", lambda layer=layer: _attacks(environment, layer))  # type: ignore[misc]
    if slow:
        step("a sandbox that nobody renews ends", lambda: _unrenewed(environment, policy))
    step("nothing is left to sweep", lambda: _swept(environment))
    return report


def _blocked(session: Any) -> str:
    found = session.report[Wall.PROVIDER_NETWORK_BLOCK]
    assert found.level is Level.VENDOR, f"{found.level.value}: {found.evidence}"
    return str(found.evidence)


def _round_trip(session: Any) -> str:
    times = []
    for number in range(20):
        began = time.monotonic()
        result = session.execute(f"print({number})", _no_calls)
        times.append(time.monotonic() - began)
        assert result.stdout == f"{number}\n", result.stderr
    return f"median {sorted(times)[10] * 1000:.1f} ms"


def _context(session: Any) -> str:
    began = time.monotonic()
    session.load_context("context", "x" * _CONTEXT_BYTES)
    seconds = time.monotonic() - began
    result = session.execute("print(len(context))", _no_calls)
    assert result.stdout == f"{_CONTEXT_BYTES}\n", result.stderr
    return f"{_CONTEXT_BYTES / seconds / 1e6:.1f} MB a second"


def _timeout(session: Any) -> str:
    session.execute("kept = 1", _no_calls)
    result = session.execute("while True: pass", _no_calls, seconds=2)
    assert isinstance(result.error, CellTimeout), result.error
    assert session.execute("print(kept)", _no_calls).stdout == "1\n"
    return f"after {result.seconds:.1f} s"


def _lost(session: Any) -> str:
    session.execute("kept = 2", _no_calls)
    lost = session.report.details["sandbox"]
    session._lease._destroy(lost)
    began = time.monotonic()
    assert session.execute("kept = 3", _no_calls).resumed
    assert session.execute("print(kept)", _no_calls).stdout == "2\n"
    return f"{time.monotonic() - began:.1f} s until it went on in another one"


def _unrenewed(environment: Any, policy: Policy) -> str:
    session = environment.open(policy)
    lease = session._lease
    lease._provider.renew_every = None  # the loop that renews it ends with its next round
    lease._gone.set()
    began = time.monotonic()
    try:
        while time.monotonic() - began < 3 * UNRENEWED_SECONDS:
            time.sleep(5)
            if not lease._loop.call(lease._provider.running(), 30):
                return f"after {time.monotonic() - began:.0f} s"
        raise AssertionError(f"it still runs after {3 * UNRENEWED_SECONDS} s")
    finally:
        lease._gone.clear()
        session.close()


def _attacks(environment: Any, layer: corpus.Layer) -> str:
    """Run attacks on one layer, spread over the corpus, each in a sandbox of its own; judged from this machine."""
    policy = judge.policy("strict")
    screened = layer is corpus.Layer.LANGUAGE
    attacks = [attack for attack in corpus.load() if attack.layer is layer]
    chosen = attacks[:: max(len(attacks) // _ATTACKS, 1)][:_ATTACKS]
    results: list[str] = []
    with Target() as target:
        for attack in chosen:
            # afterwards=False: other sessions run on machines of their own, so an attack cannot affect them.
            opens = lambda: _open(environment, policy, screened)  # noqa: E731
            outcome = judge.attempt(attack, opens, target, policy, afterwards=False, layered=screened)
            assert outcome.result is not verdict.Result.WON, f"{attack.name} won: {outcome.evidence}"
            results.append(outcome.result.value)
    return ", ".join(f"{results.count(each)} {each}" for each in sorted(set(results)))


def _open(environment: Any, policy: Policy, screened: bool) -> Unscreened:
    return Unscreened(environment.session(policy, screen=screened))


def _swept(environment: Any) -> str:
    count = environment.sweep()
    assert count == 0, f"{count} sandboxes were left, and swept"
    return "nothing"


def _no_calls(_: object) -> None:
    return None


if __name__ == "__main__":
    sys.exit(main())
