"""What the pushes try in turn: of a list, or of the tests of a file, each push a share, the next push the next one.

`python -m tests` says which push it is (RLM_SECURE_TURN); without that, as at night, everything is tried. Every push
tries all attacks on this machine's walls, the walls themselves, the guards of the language, the policy's gate, the
decoders, and what a claim of threat-model.md is proven by; a test asks for the last. Not in effort.py, which loads
Hypothesis: that must not be in a process that runs attacks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")
#: A folder, a file or a test -> how many pushes share what it has; the longest name counts, and 1 is all of it.
SHARED = {
    # The same code behind five wires: each push meets each fault, at some of the providers.
    "tests/clouds": 3,
    "tests/clouds/test_attacks.py": 1,  # a push has one provider
    "tests/clouds/test_live.py": 1,
    "tests/clouds/test_pods_attacked.py": 1,
    "tests/clouds/test_faults.py": 5,
    "tests/clouds/test_lifecycle.py": 5,
    "tests/clouds/test_networks.py": 4,
    "tests/clouds/test_quota.py": 4,
    "tests/docker": 4,
    "tests/docker/test_corpus.py": 1,  # takes a share of the attacks itself
    "tests/docker/test_escapes.py": 1,
    "tests/docker/test_refusals.py": 1,
    "tests/docker/test_seccomp_profile.py": 1,
    "tests/docker/test_separation.py": 1,
    # A cluster for nearly every test.
    "tests/scale/test_ray.py": 8,
    "tests/scale/test_ray.py::test_a_node_without_the_walls_gets_no_prompt": 1,
    # A process for each, and often a real server or another interpreter.
    "tests/cli": 3,
    "tests/cli/test_ask.py": 5,
    "tests/docs/test_blocks.py": 8,
    "tests/examples": 3,
    "tests/examples/test_programs.py": 4,
    "tests/packaging": 3,
    "tests/packaging/test_distribution.py": 4,
    "tests/test_bench_peers.py::test_each_case_runs_once_with_what_is_installed": 4,
    "tests/test_benchmarks_smoke.py": 5,
    "tests/test_typing.py": 3,
    "tests/audit": 3,
    "tests/audit/test_page.py::test_the_page_works_in_a_browser": 4,
    "tests/evidence/test_evidence.py": 4,
    "tests/test_again.py": 2,
    "tests/test_branches.py": 3,
    "tests/test_bundle.py": 2,
    "tests/test_plugins.py": 2,
    "tests/test_removal.py": 2,
    "tests/test_causes.py": 2,
    "tests/testing/test_attempts.py": 3,
    "tests/testing/test_own_attacks.py": 3,
    "tests/testing/test_plugin.py": 3,
    # A browser draws without a graphics card.
    "tests/browser": 4,
    "tests/docs/test_site.py::test_pages_work_in_a_browser": 5,  # a push looks at one page of the five kinds
    # Growth, measured: what is linear today is not quadratic tomorrow without anybody's touching it.
    "tests/clients/test_hostile_provider.py::test_a_hostile_provider_costs_no_more_than_the_policy_says": 4,
    "tests/growth": 3,
    "tests/rlm/test_parsing.py::test_a_megabyte_of_anything_takes_linear_time": 3,
    "tests/local/test_faults.py::test_five_hundred_idle_sessions_fit_in_the_budget": 3,
    "tests/broker/test_long_runs.py": 2,
    # Many examples of one rule, and one rule in many places.
    "tests/agents": 3,
    "tests/arena/test_judges.py": 2,
    "tests/broker/test_apart.py": 2,
    "tests/broker/test_dial.py": 2,
    "tests/broker/test_faults.py": 2,
    "tests/broker/test_lives_on.py": 2,
    "tests/broker/test_networks.py": 2,
    "tests/broker/test_openapi.py": 2,
    "tests/broker/test_replays.py": 2,
    "tests/broker/test_session.py": 3,  # as tests/local/test_session.py, through a broker
    "tests/checks": 2,
    "tests/clients": 2,
    "tests/clients/test_hostile_provider.py": 1,
    "tests/environments": 2,
    "tests/fuzz": 3,
    "tests/guest/test_benign.py": 4,
    "tests/guest/test_changes.py": 2,
    "tests/guest/test_equivalence.py": 2,
    "tests/guest/test_inlined.py": 2,
    "tests/guest/test_library.py": 2,
    "tests/guest/test_ordered_dict.py": 2,
    "tests/guest/test_results.py": 2,
    "tests/local/test_checkpoints.py": 3,
    "tests/local/test_context.py": 2,
    "tests/local/test_copies.py": 3,
    "tests/local/test_copies.py::test_who_makes_no_honest_copy_ends_alone": 1,
    "tests/local/test_launch.py": 2,
    "tests/local/test_startup.py": 3,
    "tests/local/test_turns.py": 3,
    "tests/logger": 2,
    "tests/logger/test_redact.py": 1,
    "tests/packages": 2,
    "tests/packages/test_escapes.py": 1,
    "tests/packages/test_honest.py": 4,
    "tests/packages/test_hooks.py": 1,
    "tests/rlm": 2,
    "tests/rlm/test_budget.py": 1,
    "tests/rlm/test_limits.py": 1,
}
#: The same for runs as another user or under another Python (.ci/unprivileged, .ci/smoke), which say so by
#: RLM_SECURE_ELSEWHERE: what the full run tries as root on 3.11, where these tests have little to do with either.
ELSEWHERE = {
    "tests/local/test_checkpoints.py": 6,
    "tests/local/test_context.py": 3,
    "tests/local/test_copies.py": 6,
    "tests/local/test_launch.py": 3,
    "tests/local/test_session.py": 3,
    "tests/local/test_startup.py": 6,
    "tests/local/test_turns.py": 3,
    # One Python has programs of the crawler's, the next one has not; what it looks at is tried whole.
    "tests/crawler/test_crawler.py::test_no_random_program_gets_hold_of_anything": 2,
    "tests/crawler/test_crawler.py::test_what_is_planted_is_found": 3,
    "tests/crawler/test_crawler.py::test_what_never_ends_is_lost_and_said_to_be": 3,
    "tests/crawler/test_crawler.py::test_the_judge_of_programs_sees_what_they_leave": 3,
    "tests/crawler/test_crawler.py::test_the_picture_shows_each_change_and_no_other": 3,
}


def turn() -> int | None:
    """The number of this push; None where everything is tried. Of two Pythons elsewhere, one has the next turn."""
    given = os.environ.get("RLM_SECURE_TURN", "")
    python = sys.version_info.minor if os.environ.get("RLM_SECURE_ELSEWHERE") else 0
    return int(given) + python if given else None


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
    return tuple(items if now is None else items[(now + zlib.crc32(name.encode())) % of :: of])


def pushes(test: str) -> int:
    """How many pushes share what a test (its id, as pytest's) belongs to; 1 where each runs it."""
    shared = SHARED | ELSEWHERE if os.environ.get("RLM_SECURE_ELSEWHERE") else SHARED
    name, _, _ = test.partition("[")
    while name and name not in shared:
        name = name.rpartition("::" if "::" in name else "/")[0]
    return shared.get(name, 1)
