"""What the pushes try in turn: of a list, or of the tests of a file, each push a share, the next push the next one.

`python -m tests` says which push it is (RLM_SECURE_TURN); without that, as at night, everything is tried. Every push
tries all attacks on this machine's walls, the walls themselves, the guards of the language, the policy's gate, the
decoders, and what a claim of threat-model.md is proven by; a test asks for the last. Not in effort.py, which loads
Hypothesis: that must not be in a process that runs attacks.
"""

from __future__ import annotations

import os
import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")
#: A folder, a file or a test -> how many pushes share what it has; the longest name counts, and 1 is all of it.
SHARED = {
    # The same code behind five wires: two pushes meet each fault, at some of the providers.
    "tests/clouds": 8,
    "tests/clouds/test_attacks.py": 1,  # a push has one provider
    "tests/clouds/test_live.py": 6,
    "tests/clouds/test_pods_attacked.py": 1,
    "tests/clouds/test_faults.py": 10,
    "tests/clouds/test_lifecycle.py": 10,
    "tests/clouds/test_quota.py": 10,
    "tests/docker": 8,
    "tests/docker/test_corpus.py": 1,  # takes a share of the attacks itself
    "tests/docker/test_escapes.py": 1,
    "tests/docker/test_refusals.py": 1,
    "tests/docker/test_seccomp_profile.py": 1,
    "tests/docker/test_separation.py": 1,
    # A cluster for nearly every test.
    "tests/scale/test_ray.py": 24,
    "tests/scale/test_ray.py::test_a_node_without_the_walls_gets_no_prompt": 1,
    # A process for each, and often a real server or another interpreter.
    "tests/cli": 8,
    "tests/cli/test_ask.py": 12,
    "tests/docs/test_blocks.py": 16,
    "tests/examples": 10,
    "tests/packaging": 10,
    "tests/test_bench_peers.py": 6,
    "tests/test_bench_peers.py::test_each_case_runs_once_with_what_is_installed": 10,
    "tests/test_benchmarks_smoke.py": 10,
    "tests/test_typing.py": 10,
    "tests/audit": 8,
    "tests/audit/test_hostile_files.py": 1,
    "tests/audit/test_page.py::test_the_page_works_in_a_browser": 5,
    "tests/evidence/test_evidence.py": 12,
    "tests/testing": 8,
    # A browser draws without a graphics card.
    "tests/browser": 5,
    "tests/docs/test_site.py::test_pages_work_in_a_browser": 10,  # every second push looks at one page of the five kinds
    # Growth, measured: what is linear today is not quadratic tomorrow without anybody's touching it.
    "tests/clients/test_hostile_provider.py::test_a_hostile_provider_costs_no_more_than_the_policy_says": 4,
    "tests/growth": 4,
    "tests/local/test_faults.py::test_five_hundred_idle_sessions_fit_in_the_budget": 3,
    # Many examples of one rule, and one rule in many places.
    "tests/test_again.py": 6,
    "tests/test_branches.py": 6,
    "tests/test_bundle.py": 6,
    "tests/test_causes.py": 6,
    "tests/test_plugins.py": 6,
    "tests/test_removal.py": 3,
    "tests/test_runner.py": 4,
    "tests/test_tagged.py": 2,
    "tests/agents": 8,
    "tests/agents/test_codegen_limits.py": 4,
    "tests/broker": 2,
    "tests/broker/test_attacks.py": 1,
    "tests/broker/test_decoded.py": 1,
    "tests/broker/test_decoder.py": 1,
    "tests/broker/test_hostile_broker.py": 1,
    "tests/broker/test_hostile_pace.py": 1,
    "tests/broker/test_hostile_stream.py": 1,
    "tests/broker/test_http.py": 1,
    "tests/broker/test_json_bounds.py": 1,
    "tests/broker/test_session.py": 8,  # as tests/local/test_session.py, through a broker
    "tests/broker/test_signed.py": 1,
    "tests/broker/test_wire.py": 1,
    "tests/checks": 6,
    "tests/clients": 8,
    "tests/clients/test_hostile_provider.py": 1,
    "tests/clients/test_limits.py": 4,
    "tests/environments": 6,
    "tests/environments/test_host_calls.py": 2,
    "tests/fuzz": 3,
    "tests/guest/test_benign.py": 10,
    "tests/guest/test_changes.py": 4,
    "tests/guest/test_equivalence.py": 3,
    "tests/guest/test_guardrails.py": 2,
    "tests/guest/test_inlined.py": 3,
    "tests/guest/test_library.py": 6,
    "tests/guest/test_ordered_dict.py": 6,
    "tests/guest/test_results.py": 6,
    "tests/local/test_checkpoints.py": 6,
    "tests/local/test_context.py": 6,
    "tests/local/test_copies.py": 6,
    "tests/local/test_copies.py::test_who_makes_no_honest_copy_ends_alone": 1,
    "tests/local/test_image.py": 8,
    "tests/local/test_launch.py": 6,
    "tests/local/test_startup.py": 8,
    "tests/local/test_turns.py": 6,
    "tests/logger": 4,
    "tests/logger/test_redact.py": 1,
    "tests/packages": 6,
    "tests/packages/test_escapes.py": 1,
    "tests/packages/test_honest.py": 10,
    "tests/packages/test_hooks.py": 1,
    "tests/policy": 2,
    "tests/policy/test_gate.py": 1,
    "tests/policy/test_hostile_policies.py": 1,
    "tests/policy/test_one_gate.py": 1,
    "tests/rlm": 6,
    "tests/rlm/test_bounds.py": 3,
    "tests/rlm/test_budget.py": 1,
    "tests/rlm/test_limits.py": 1,
}
#: The same for runs as another user or under another Python (.ci/unprivileged, .ci/smoke), which say so by
#: RLM_SECURE_ELSEWHERE: the full run has just tried all of this as root on 3.11. What depends on the user is tried whole.
ELSEWHERE = {
    "tests/cli": 12,
    "tests/local": 4,
    "tests/local/test_faults.py": 6,
    "tests/local/test_cgroup.py": 1,
    "tests/local/test_checkpoints.py": 8,
    "tests/local/test_context.py": 8,
    "tests/local/test_copies.py": 8,
    "tests/local/test_image.py": 10,
    "tests/local/test_launch.py": 8,
    "tests/local/test_machine.py": 1,
    "tests/local/test_seal.py": 1,
    "tests/local/test_session.py": 6,
    "tests/local/test_startup.py": 10,
    "tests/local/test_turns.py": 8,
    "tests/local/test_user_ids.py": 1,
    "tests/local/test_zygote.py": 1,
}


#: Where the lists of a file begin, if that is not left to its name: what takes a processor ten seconds or more, mostly a
#: browser, does so at pushes of its own.
_BEGINS = {
    "tests/browser/test_browser.py": 0,
    "tests/docs/test_site.py": 0,
    "tests/audit/test_page.py": 2,
    "tests/test_bench_peers.py": 1,
}


def turn() -> int | None:
    """The number of this push; None where everything is tried."""
    given = os.environ.get("RLM_SECURE_TURN", "")
    return int(given) if given else None


def of_this_push() -> int:
    """A number that the next commit has the next one of; 0 outside a repository."""
    command = ["git", "rev-list", "--count", "HEAD"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else 0


def share(items: Sequence[_T], of: int, name: str = "") -> tuple[_T, ...]:
    """Each `of`-th of `items`, beginning where it is this push's turn; all of them where everything is tried.

    By their `name`, lists have their turns at different pushes: what is short is not tried all at once by some.
    """
    now = turn()
    begins = _BEGINS.get(name, zlib.crc32(name.encode()))
    return tuple(items if now is None else items[(now + begins) % of :: of])


def pushes(test: str) -> int:
    """How many pushes share what a test (its id, as pytest's) belongs to; 1 where each runs it."""
    shared = SHARED | ELSEWHERE if os.environ.get("RLM_SECURE_ELSEWHERE") else SHARED
    name, _, _ = test.partition("[")
    while name and name not in shared:
        name = name.rpartition("::" if "::" in name else "/")[0]
    return shared.get(name, 1)
