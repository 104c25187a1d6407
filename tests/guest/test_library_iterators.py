"""Library code behind facades that has C's iterators of its own: which of it hands one out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: Modules that no facade calls; those of the worker itself.
_NOT_FOR_CELLS = {"inspect", "linecache", "platform", "reprlib", "threading", "tokenize", "traceback"}
#: Functions that go through such an iterator themselves, and neither return it nor put it where a cell can ask it.
_KEPT_INSIDE = {
    "dataclasses._add_slots": {"chain"},
    "random.Random.choices": {"accumulate"},
    "random.Random.sample": {"accumulate"},
    "statistics._rank": {"count", "groupby"},
    "statistics._ss": {"groupby"},
    "statistics._sum": {"groupby"},
}
_LIST = """
import gc, itertools, json, types
{before}
from rlm_secure.guest.language import facades
facades.preload()
names = "accumulate batched chain count cycle groupby islice pairwise zip_longest".split()
unsafe = {{id(getattr(itertools, name)): name for name in names if hasattr(itertools, name)}}
def codes(code):
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from codes(each)
found = {{}}
for function in [each for each in gc.get_objects() if type(each) is types.FunctionType]:
    space = function.__globals__
    for code in codes(function.__code__):
        values = [space[name] for name in code.co_names if name in space]
        if itertools in values:
            values += [getattr(itertools, name, None) for name in code.co_names]
        values += [cell.cell_contents for cell in function.__closure__ or () if cell != types.CellType()]
        for value in values:
            if id(value) in unsafe:
                where = space.get("__name__", "?") + "." + function.__qualname__
                found.setdefault(where, []).append(unsafe[id(value)])
print(json.dumps(found))
"""


def _users(before: str = "") -> dict[str, set[str]]:
    """Function -> the iterators that it uses, of all library code that a worker has loaded."""
    command = [sys.executable, "-W", "ignore", "-c", _LIST.format(before=before)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    users = {name: set(used) for name, used in json.loads(done.stdout).items()}
    return {name: used for name, used in users.items() if name.partition(".")[0] not in {*_NOT_FOR_CELLS, "rlm_secure"}}


def test_no_library_code_hands_out_an_iterator_that_is_unsafe_when_asked_again() -> None:
    found = _users()
    assert {name: used - _KEPT_INSIDE.get(name, set()) for name, used in found.items() if used - _KEPT_INSIDE.get(name, set())} == {}
    assert {"random.Random.choices", "statistics._sum"} <= found.keys()  # so it does look


def test_one_that_is_handed_out_is_seen() -> None:
    """The control: a module that has the real chain."""
    planted = "import textwrap\nfrom itertools import chain\ntextwrap._chain = chain\n"
    planted += "exec('def elements(x): return _chain(x)', vars(textwrap))"
    assert _users(planted)["textwrap.elements"] == {"chain"}
