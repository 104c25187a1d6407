"""The section of the system prompt on the session that cells run in; it stays the same for the whole run."""

from __future__ import annotations

from collections.abc import Iterable

from rlm_secure.policy import Policy


def describe_session(
    policy: Policy,
    *,
    cell_seconds: float | None = None,
    files: Iterable[str] = (),
    models: bool = True,
    imports: bool = True,
) -> str:
    """What `policy` lets a cell do, as a section of the system prompt.

    `cell_seconds` is a cell's limit of wall-clock time if the run lowers the policy's; `files` are the names of those
    that the caller gave. `models` and `imports`: whether cells may call models, and have import statements.
    """
    language, limits, lm = policy.language, policy.limits, policy.lm
    seconds = limits.cell_seconds if cell_seconds is None else min(cell_seconds, limits.cell_seconds)
    modules = f"{_names(language.modules)} and nothing else" if language.modules else "no modules"
    found = f"`import` finds {modules}. " if imports else ""
    waiting = " (waiting for a model does not count)" if limits.exclude_host_time else ""
    named = (
        f"`model` may name {_names(lm.models)}; without it the run's own model answers."
        if lm.models
        else "Leave `model` out: the run's own model answers."
    )
    calls = f" and make {lm.calls:,} model calls, of which {lm.concurrency:,} run at a time. A prompt may have \
{_bytes(lm.prompt_bytes)}, a batch {lm.batch:,} prompts. {named}"
    absent = "no network, no threads and no other programs"
    return f"""
# The sandbox

- {found}There is no `open`, `eval`, `exec` or `input`, and there are \
{absent if limits.files else f"no files, {absent}"}.{_files(policy, files) if limits.files else ""}
- Names that lead into Python's own workings, such as `__globals__` or `__subclasses__`, are refused. The error names \
the rule and says what to write instead.
- A block may run for {seconds:g} seconds{waiting} and use {_bytes(limits.memory_bytes)} of memory. When it goes over, \
it is stopped and you are told why.
- The whole run, workers included, may take {limits.run_seconds:g} seconds{calls if models else "."}
"""


def _files(policy: Policy, given: Iterable[str]) -> str:
    """The line on files in memory, for a policy that grants them."""
    named = tuple(given)
    there = f" These are there: {_names(named)}." if named else ""
    read = "`files.open(name)` opens one as text or, with `\"rb\"`, as bytes"
    more = ""
    if "pandas" in policy.language.packages:
        more = " `pd.read_csv(name)` and `df.to_csv(name)` read and write them."
    if "matplotlib" in policy.language.packages:
        more += ' `plt.savefig("chart.png")` hands a chart over.'
    return (
        f"\n- Files are in memory, in `files`: `files[name]` has the bytes of one, {read}, `files.names()` lists them. "
        f"What you write there is handed over, at most {policy.limits.files:,} files of "
        f"{_bytes(policy.limits.file_bytes)} together.{there}{more}"
    )


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _bytes(count: int) -> str:
    """A size in the largest unit that it reaches, to four digits."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} bytes"
