"""The policy: one frozen object that decides everything a run may do.

Units are in the names: `_seconds`, `_bytes`, `_usd`. Defaults are those of `strict`, so that a policy file
needs to name only what differs. There is no key for `open` or `__import__`: no policy can bring them back.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, create_model, field_validator

from rlm_secure.checks import patterns
from rlm_secure.guarantees import Wall
from rlm_secure.policy import derived
from rlm_secure.policy.derived import PACKAGES
from rlm_secure.registry import ENVIRONMENTS, REMOTE_WALLS, RunsIn, environment_names

MIB = 1024 * 1024
GIB = 1024 * MIB

MOST = 2**53  # what JSON and every kernel interface carry exactly; far above any sensible limit
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Positive = Annotated[int, Field(ge=1, le=MOST)]
Count = Annotated[int, Field(ge=0, le=MOST)]

#: Every module that has a facade in the guest; a policy may name no other. A test compares both lists.
KNOWN_MODULES = (
    "abc", "argparse", "array", "ast", "asyncio", "base64", "binascii", "bisect", "calendar", "cmath",
    "collections", "collections.abc", "colorsys", "concurrent", "concurrent.futures", "configparser", "contextlib",
    "copy", "csv", "dataclasses", "datetime", "decimal", "difflib", "enum", "fnmatch", "fractions", "functools",
    "gc", "graphlib", "hashlib", "heapq", "hmac", "html", "html.parser", "inspect", "io", "itertools", "json",
    "logging", "math", "numbers", "operator", "os", "os.path", "pathlib", "pprint", "queue", "random", "re",
    "secrets", "shlex", "statistics", "string", "struct", "sys", "textwrap", "threading", "time", "traceback",
    "types", "typing", "unicodedata", "urllib", "urllib.parse", "uuid", "warnings", "zlib", "zoneinfo",
)  # fmt: skip


def _known_module(name: str) -> str:
    if name not in KNOWN_MODULES and name not in PACKAGES:
        raise ValueError(f"cells have no module {name[:80]!r}")  # complaint.py says why, and which they have
    return name


def _known_environment(name: str) -> str:
    if name not in ENVIRONMENTS and name not in environment_names():
        raise ValueError(f"there is no environment {name[:80]!r}")  # complaint.py says which there are
    return name


def _other_environment(name: str) -> str:
    if name in ENVIRONMENTS:
        raise ValueError(f"has a key of its own, isolation.{name}")
    return name


def _regular_expression(pattern: str) -> str:
    # It is matched against text of cells and models, which can be crafted for it.
    if patterns.Pattern(pattern).repeats_nothing:
        raise ValueError("repeats what may be empty, so that its matches depend on who looks; repeat what is not")
    return pattern


def _no_duplicates(values: tuple[T, ...]) -> tuple[T, ...]:
    seen: set[object] = set()
    for value in values:
        key: object = value
        if isinstance(value, BestEffort):
            key = value.wall
        elif isinstance(value, OtherEnvironment):
            key = value.name
        if key in seen:
            raise ValueError(f"names {str(key)[:80]!r} twice")
        seen.add(key)
    return values


T = TypeVar("T")
#: An array whose entries are all different.
Once = Annotated[tuple[T, ...], AfterValidator(_no_duplicates), Field(json_schema_extra={"uniqueItems": True})]
#: All that a policy may name.
MODULES: tuple[str, ...] = tuple(sorted((*KNOWN_MODULES, *PACKAGES)))
Module = Annotated[str, AfterValidator(_known_module), Field(json_schema_extra={"enum": list(MODULES)})]
# In this order: an expression that is too long is not compiled.
Pattern = Annotated[
    str, Field(max_length=1000, json_schema_extra={"format": "regex"}), AfterValidator(_regular_expression)
]
# At most 100, for the same reason: compiling one with the most repetitions takes tens of milliseconds.
Patterns = Annotated[
    tuple[Pattern, ...], Field(max_length=100, json_schema_extra={"uniqueItems": True}), AfterValidator(_no_duplicates)
]
Name = Annotated[str, Field(min_length=1, max_length=200)]
# The schema has ours: page.py adds those of other distributions where they are asked for.
EnvironmentName = Annotated[
    str, AfterValidator(_known_environment), Field(json_schema_extra={"enum": list(ENVIRONMENTS)})
]
Walls = Once[Wall]


class Section(BaseModel):
    """Base of every section: frozen, no unknown keys, no silent coercion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True)


class Language(Section):
    """What source text a cell may have. Enforced in the guest, as the innermost wall."""

    modules: Once[Module] = KNOWN_MODULES
    """Modules that `import` may name; each binds a facade, never the module. With numpy, pandas or matplotlib the
    language wall is partial: their C code works on what cells pass to it."""
    source_bytes: Positive = 256 * 1024
    """Longest cell, in UTF-8 bytes."""
    ast_nodes: Positive = 50_000
    """Largest syntax tree of a cell."""

    @property
    def packages(self) -> tuple[str, ...]:
        """The third-party packages that `modules` need, sorted. With pandas or matplotlib comes numpy."""
        return derived.packages(self.modules)


#: Calls that code of an analysis has no use for: what runs text or reaches names by text, and files.
FORBIDDEN_CALLS = (
    "eval", "exec", "compile", "open", "input", "globals", "locals", "vars", "getattr", "setattr", "delattr",
    "breakpoint", "to_pickle", "to_csv", "to_excel", "to_parquet", "to_sql", "read_csv", "read_excel", "read_parquet",
    "read_pickle", "read_sql", "read_html", "read_json",
)  # fmt: skip


class Guardrails(Section):
    """What code that a model writes about a table may do, checked in the guest before it runs. No wall rests on it."""

    imports: bool = False
    """Whether the code may have import statements, of the modules in language.modules."""
    forbidden_calls: Once[Name] = FORBIDDEN_CALLS
    """Calls that send the code back to its model: a function, a method of any object, or a dotted name."""
    edit: bool = True
    """Whether questions that change a table are served."""
    repairs: Annotated[int, Field(ge=0, le=16)] = 3
    """How often the code of one question may be sent back to its model."""


class Limits(Section):
    """Bounds on one session, enforced from outside the limited process."""

    cell_seconds: Seconds = 30.0
    """Wall clock of one cell, without time spent waiting for a host call when `exclude_host_time`."""
    cell_cpu_seconds: Seconds = 30.0
    """CPU seconds of one cell."""
    session_cpu_seconds: Seconds = 300.0
    """CPU seconds of a whole session, of all its workers and their copies together."""
    run_seconds: Seconds = 600.0
    """Wall clock of one completion, children and model calls included, and of any one cell."""
    grace_seconds: Seconds = 0.5
    """Time between the first soft interrupt and SIGKILL."""
    start_seconds: Seconds = 30.0
    """Longest start of a session."""
    exclude_host_time: bool = True
    """Whether waiting for a model or a tool is taken off the cell's own clock (never off the run's)."""
    memory_bytes: Annotated[int, Field(ge=64 * MIB, le=MOST)] = 512 * MIB
    """Private memory of a worker (RLIMIT_DATA; memory.max where a cgroup exists)."""
    processes: Annotated[int, Field(ge=0, le=0)] = 0
    """Processes or threads that a cell may add: none. The filter has no call that starts one."""
    open_files: Annotated[int, Field(ge=4, le=1024)] = 16
    """Descriptors that a worker may hold (RLIMIT_NOFILE)."""
    stdout_bytes: Positive = 1 * MIB
    """Output kept per cell; the rest is counted and dropped while it is produced."""
    result_bytes: Annotated[int, Field(ge=4096, le=1024 * MIB)] = 8 * MIB
    """Largest frame that the host reads from a guest."""
    value_bytes: Positive = 1 * MIB
    """Largest value of a variable that is returned, as JSON; a larger one is an error that names its size. One of more
    than 390,000 brackets and commas is too large as well."""
    context_bytes: Positive = 4096 * MIB
    """Largest context, as loaded."""
    files: Annotated[int, Field(ge=0, le=4096)] = 0
    """Files in memory that a session may have (the object `files` of cells); 0 for none, and no such object."""
    file_bytes: Positive = 256 * MIB
    """All files of a session together."""
    cells: Positive = 1_000
    """Cells of one session."""
    resumes: Count = 3
    """How often a killed cell's session may be resumed from a checkpoint."""
    forks: Annotated[int, Field(ge=0, le=4096)] = 64
    """Copies of one session that live at the same time, snapshots included; each has the session's limits for itself.
    """
    tool_seconds: Seconds = 60.0
    """Wall clock of one tool call; one that takes longer is left behind, and fails in the cell."""
    tool_calls: Count = 10_000
    """Tool calls of one session."""
    abandoned_calls: Positive = 16
    """Calls of one session that were left behind and still run, before it calls no tool; 8 times that of all sessions
    of an RLM, 32 times of a process, and twice as many where the session that calls has left none behind."""
    kept_bytes: Annotated[int, Field(ge=MIB, le=MOST)] = 256 * MIB
    """Memory that one run tree keeps for records of what happened; what comes later is counted, not kept."""


class BestEffort(Section):
    """A wall that may be missing, and why the operator accepts that."""

    wall: Wall
    """The wall that may be missing."""
    reason: Annotated[str, Field(min_length=8)]
    """Why the operator accepts that."""


class OtherEnvironment(Section):
    """An environment of another distribution, and the walls that must hold around its sessions."""

    name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_other_environment)]
    """Its name, as isolation.environments has it."""
    walls: Walls = REMOTE_WALLS
    """Walls that must hold, beside those that the environment itself declares."""


class _Allowed(Section):
    environments: Once[EnvironmentName] = tuple(ENVIRONMENTS)
    """Environments that a run under this policy may use."""


def _meaning(name: str) -> str:
    around = ENVIRONMENTS[name].runs_in is RunsIn.PROCESS
    return f"Walls that must hold {f'around a {name} session' if around else f'inside a session of {name}'}."


if TYPE_CHECKING:
    _WallsOfEach = _Allowed
else:  # one key for each environment of ours
    _WallsOfEach = create_model(
        "_WallsOfEach",
        __base__=_Allowed,
        __module__=__name__,
        **{name: (Walls, Field(spec.walls, description=_meaning(name))) for name, spec in ENVIRONMENTS.items()},
    )


class Isolation(_WallsOfEach):
    """Which walls must hold. A shortfall refuses the session."""

    others: Once[OtherEnvironment] = ()
    """Walls that must hold inside sessions of environments of other distributions. For one that is not named: those of
    a cloud. Those that an environment itself declares are always added."""
    best_effort: Once[BestEffort] = ()
    """Required walls that may be missing all the same; each is a finding of `audit`."""
    checkpoints: bool = True
    """Keep a copy-on-write copy of the session, so that a killed cell loses only itself."""
    pool: Annotated[int, Field(ge=0, le=256)] = 2
    """Sealed sessions kept ready."""
    docker_runtime: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_.-]{1,64}$")] = "runc"
    """Container runtime: runc, runsc (gVisor) or kata."""

    @field_validator("others")
    @classmethod
    def _names_what_there_is(
        cls, others: tuple[OtherEnvironment, ...], info: ValidationInfo
    ) -> tuple[OtherEnvironment, ...]:
        """Refuse an unknown name: the walls under a misspelt one would silently be required of no environment."""
        allowed = info.data.get("environments", ())
        if not ENVIRONMENTS.keys() >= set(allowed):
            known = {*allowed, *environment_names()}
            for other in others:
                if other.name not in known:
                    raise ValueError(
                        f"names the environment {other.name[:80]!r}, which isolation.environments does not allow and "
                        "no distribution offers"
                    )
        return others

    def listed(self, environment: str) -> tuple[Wall, ...]:
        """The walls that this policy lists for `environment`, built-in or not; best-effort ones included."""
        if environment in ENVIRONMENTS:
            walls: tuple[Wall, ...] = getattr(self, environment)
            return walls
        return next((other.walls for other in self.others if other.name == environment), REMOTE_WALLS)

    def required(self, environment: str, own: tuple[Wall, ...] = ()) -> tuple[Wall, ...]:
        """Walls that `environment` must build: its list, and its `own` minimum, without the best-effort ones."""
        return derived.required(environment, self.listed(environment), own, (entry.wall for entry in self.best_effort))

    def requiring_nothing(self, environment: str) -> Isolation:
        """A copy with no walls listed for `environment`, or any built-in one: to see which walls it builds."""
        update: dict[str, Any] = dict.fromkeys(ENVIRONMENTS, ())
        if environment not in ENVIRONMENTS:  # one that is not listed has the default list
            update["others"] = (OtherEnvironment.model_construct(name=environment, walls=()),)
        return self.model_copy(update=update)


class Network(Section):
    """Holes in the network wall. Cells never have a network; these concern the control channel."""

    ingress: bool = False
    """Whether the host may reach a cloud broker through the provider's authenticated ingress instead of exec."""


class LM(Section):
    """What cells and the loop may ask of language models. Checked on the host, before the call."""

    models: Once[Name] = ()
    """Models that a cell may name in `llm_query(..., model=)`. The run's own models are always allowed."""
    calls: Count = 1_000
    """Model calls of one run tree."""
    tokens: Positive = 20_000_000
    """Input + output tokens of one run tree."""
    cost_usd: Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)] = 50.0
    """Cost of one run tree, as providers report it or as the price table has it."""
    unpriced: bool = False
    """Whether a run with a cost limit of its own may use a model whose price is unknown."""
    refusals: Count = 100
    """Calls of cells that are refused in one run tree, before a cell that goes on asking is ended."""
    prompt_bytes: Positive = 4 * MIB
    """Largest prompt that a cell may send."""
    reply_bytes: Positive = 4 * MIB
    """Largest reply that a cell may receive."""
    batch: Positive = 1_000
    """Prompts in one batched call."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 16
    """Model calls in flight in one run tree."""
    depth: Annotated[int, Field(ge=0, le=16)] = 4
    """Deepest recursion of `rlm_query`."""
    iterations: Positive = 100
    """Turns of one completion."""
    timeout_seconds: Seconds = 300.0
    """Longest single model call."""
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    """Retries of a failed model call by the SDK."""


class Data(Section):
    """What may leave the process in logs."""

    redact: Patterns = ()
    """Extra regular expressions whose matches are masked in logs."""
    log_context: bool = False
    """Whether the context itself may be logged."""
    log_prompts: bool = True
    """Whether prompts and replies may be logged."""
    log_bytes: Positive = 256 * MIB
    """Bytes that one run adds to its trajectory file at most."""
    log_optional: bool = True
    """Whether a run goes on when its trajectory file cannot be written; its completion says so."""


class Ignore(Section):
    """One finding that the operator accepts until a date."""

    rule: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{2,63}$")]
    """Id of the rule, as the finding shows it."""
    at: str = ""
    """Where: file:line:column, as the finding shows it; everywhere when empty."""
    reason: Annotated[str, Field(min_length=8)]
    """Why the operator accepts the finding."""
    expires: date
    """First day on which it counts again."""


class Audit(Section):
    """How `rlm-secure audit` treats this policy."""

    ignore: tuple[Ignore, ...] = ()
    """Findings that are accepted, each with a reason and a day on which that ends."""


class Policy(Section):
    """Everything that a run may do. Load one with `Policy.load("strict")` or `load_policy`."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] = "strict"
    """What messages and reports call this policy; the name of its file by default."""
    description: Annotated[str, Field(max_length=1000)] = ""
    """A sentence for people."""
    extends: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """A policy whose values hold where this file says nothing, and which this file may only tighten."""
    language: Language = Language()
    guardrails: Guardrails = Guardrails()
    limits: Limits = Limits()
    isolation: Isolation = Isolation()
    network: Network = Network()
    lm: LM = LM()
    data: Data = Data()
    audit: Audit = Audit()

    @classmethod
    def load(cls, ref: Policy | str | Path | Mapping[str, Any]) -> Policy:
        """The policy that `ref` means: a shipped name, a path, a mapping, or a Policy. Raises PolicyError."""
        loaded: Policy = sys.modules[__name__.rpartition(".")[0]].load_policy(ref)  # which is built on this module
        return loaded
