"""Twenty-four bad files, each with the one place that an audit must point at.

The place is marked in the text: the column after the mark `>>` is the column of the finding, in the text without it.
"""

from __future__ import annotations

from dataclasses import dataclass

DIGEST = "python:3.11-slim@sha256:" + "0" * 64
COMPOSE = """\
services:
  cells:
    image: worker
    network_mode: none
    cap_drop: [ALL]
    read_only: true
    pids_limit: 64
    mem_limit: 512m
"""


@dataclass(frozen=True)
class Seed:
    """A bad file: its name, its text with the mark, and the rule that must find it."""

    rule: str
    file: str
    marked: str

    @property
    def text(self) -> str:
        return self.marked.replace(">>", "", 1)

    @property
    def place(self) -> tuple[int, int]:
        before = self.marked[: self.marked.index(">>")]
        return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


SEEDS = (
    Seed("policy-invalid", "policy.toml", "[limits]\ncell_seconds = 30.0\n>>memory = 7\n"),
    Seed("policy-invalid", "syntax.policy.toml", "[limits]\ncell_seconds = >>\n"),
    Seed("weak-memory", "policy.toml", "# ours\n[limits]\n>>memory_bytes = 68_719_476_736\n"),
    Seed("weak-cell-time", "policy.toml", "limits = { >>cell_seconds = 3000.0, run_seconds = 7200.0 }\n"),
    Seed(
        "best-effort-wall",
        "policy.toml",
        '[isolation]\nbest_effort = [\n  { wall = "user-namespace", reason = "an old runtime" },\n'
        '  >>{ wall = "seccomp", reason = "an old kernel" },\n]\n',
    ),
    Seed("wall-not-required", "policy.toml", '[isolation]\nenvironments = ["local"]\n  >>local = ["seccomp"]\n'),
    Seed("network-ingress", "policy.toml", "[network]\n>>ingress = true\n"),
    Seed("model-wildcard", "policy.toml", '[lm]\nmodels = ["gpt-5", >>"*"]\n'),
    Seed("weak-spend", "policy.toml", "lm.depth = 2\nlm.>>cost_usd = 5000.0\n".replace("lm.>>", ">>lm.")),
    Seed("context-logged", "policy.toml", "[data]\nredact = []\n>>log_context = true\n"),
    Seed(
        "ignore-expired",
        "policy.toml",
        '[[audit.ignore]]\nrule = "weak-memory"\nat = "x"\nreason = "until the move"\nexpires = 2030-01-01\n\n'
        '>>[[audit.ignore]]\nrule = "weak-calls"\nat = "x"\nreason = "for last year"\nexpires = 2020-01-01\n',
    ),
    Seed("image-root", "Dockerfile", f"# cells\nFROM {DIGEST}\nUSER >>root\n"),
    Seed("image-unpinned", "Dockerfile", "# cells\nFROM >>python:latest\nUSER 65534\n"),
    Seed(
        "piped-shell", "Dockerfile", f"FROM {DIGEST}\nRUN apt-get update \\\n && >>curl https://x.test/i | sh\nUSER 1\n"
    ),
    Seed("secret-in-image", "Dockerfile", f"FROM {DIGEST}\nENV A=1 >>OPENAI_API_KEY=x\nUSER 1\n"),
    Seed("install-at-start", "Dockerfile", f'FROM {DIGEST}\nUSER 1\nCMD ["sh", "-c", ">>pip install x"]\n'),
    Seed("container-privileged", "compose.yaml", COMPOSE + "    >>privileged: true\n"),
    Seed(
        "container-engine-socket",
        "compose.yml",
        COMPOSE + "    volumes:\n      - ./in:/in:ro\n      - >>/var/run/docker.sock:/var/run/docker.sock\n",
    ),
    Seed("container-capabilities", "compose.yaml", COMPOSE + "    cap_add: [NET_BIND_SERVICE, >>SYS_ADMIN]\n"),
    Seed(
        "container-host-namespace",
        "inspect.json",
        '[\n  {\n    "Name": "/cells",\n    "HostConfig": {\n      "Privileged": false,\n      >>"PidMode": "host"\n    }\n  }\n]\n',
    ),
    Seed(
        "seccomp-default",
        "seccomp.json",
        '{\n  "archMap": [],\n  >>"defaultAction": "SCMP_ACT_ALLOW",\n  "syscalls": []\n}\n',
    ),
    Seed(
        "seccomp-dangerous-call",
        "seccomp.json",
        '{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [\n {"names": ["read", >>"bpf"], "action": "SCMP_ACT_ALLOW"}]}\n',
    ),
    Seed("upstream-local", "program.py", 'from rlm import RLM as R\n\nx = "ä"; rlm = >>R(backend="openai")\n'),
    Seed("key-in-code", "program.py", 'kwargs = {\n    "api_key": >>"sk-proj-4f8a1c0d9e7b",\n}\n'),
    Seed("broker-everywhere", "program.py", 'import uvicorn\nuvicorn.run(app, host=>>"0.0.0.0", port=80)\n'),
    Seed("package-vulnerable", "requirements.txt", "numpy==2.0\n>>RestrictedPython[x]==6.0\n"),
    Seed("cell-reaches", "cell.py", "x = 1\nprint(x.>>__globals__)\n"),
)
