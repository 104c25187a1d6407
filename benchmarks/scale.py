"""A batch on one node and on two with the same processors: what a second machine costs, with all of its start."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks._peer import MODEL_SECONDS
from benchmarks.runner import Case, benchmark
from rlm_secure import RLM

ROOT = Path(__file__).parents[1]
PROMPTS = 64
#: Seconds of each call: with MODEL_SECONDS, a batch would be over before a second process has started.
CALL_SECONDS = 10 * MODEL_SECONDS
CELL = "```repl\nfinal_answer(llm_query(context))\n```"
#: The processors of each node; none: threads of this process. "local": whatever Ray takes here.
NODES: dict[str, tuple[int, ...]] = {"threads": (), "one": (2,), "two": (1, 1), "local": ()}


class Place:
    """One case, in a process of its own: a program is connected to one cluster."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.seconds = 0.0

    def run(self, prompts: int = PROMPTS, where: str = "") -> None:
        command = [sys.executable, "-m", "benchmarks.scale", where or self.where, str(prompts)]
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=300)
        self.seconds = float(done.stdout.split()[-1])

    def case(self, name: str, small: str) -> Case:
        """The case; where it only has to work, with two prompts at the place `small`."""
        return Case(name, self.run, slow=True, small=lambda: self.run(2, small), value=lambda: self.seconds)


@benchmark("ray-64", f"a batch of {PROMPTS} prompts, 8 at a time, each with two calls of {CALL_SECONDS * 1000:.0f} ms")
def ray_batch() -> Iterator[Sequence[Case]]:
    yield [
        Place("one").case("Ray, one node with two processors", "local"),
        Place("two").case("Ray, two nodes with one processor each", "threads"),
        Place("threads").case("threads of one process", "threads"),
    ]


def main(where: str, prompts: int) -> None:
    """Run one batch, and print its seconds."""
    rlm = RLM(backend="scripted", backend_kwargs={"turns": [CELL], "replies": "r", "delay": CALL_SECONDS})
    engine = "threads" if where == "threads" else "ray"
    if NODES[where]:
        from ray.cluster_utils import Cluster

        from rlm_secure.scale.connection import on_loopback

        with on_loopback():
            cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": NODES[where][0]})
            for processors in NODES[where][1:]:
                cluster.add_node(num_cpus=processors)
            cluster.connect()
            cluster.wait_for_nodes()
    elif engine == "ray":
        from rlm_secure.scale.connection import connected

        connected()
    began = time.perf_counter()
    items = rlm.batch([f"prompt {number}" for number in range(prompts)], concurrency=8, engine=engine)
    seconds = time.perf_counter() - began
    assert [item.response for item in items] == ["r"] * prompts
    print(seconds)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
