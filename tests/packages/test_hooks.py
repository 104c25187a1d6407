"""numpy takes no memory from attributes of objects, and the zygote imports nothing but the packages of its set."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import struct
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.guest.packages import finder, hooks

ROOT = Path(__file__).parents[2]
ASKED = '''
class Asked:
    __array_interface__ = {"shape": (1,), "typestr": "|u1", "data": b"x", "version": 3}
'''
#: Memory like Python's own, beside that of numpy's C module. The kernel puts a library below what was mapped last, and
#: joins the two; where it aligns libraries there is a gap, in which more is mapped afterwards.
BESIDE = """
import ctypes, mmap, struct, sys
from rlm_secure.guest.packages import hooks
names = struct.pack("=2Q", *(id(sys.intern(each)) for each in hooks._NAMES))
kept = []
class Before:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy._core._multiarray_umath":
            kept.append(mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
            kept[0].write(names * (1 << 16))
sys.meta_path.insert(0, Before())
import numpy
lines = [line.split() for line in open("/proc/self/maps")]
end = max(int(line[0].split("-")[1], 16) for line in lines if "_multiarray_umath" in line[-1])
libc = ctypes.CDLL(None)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
place = libc.mmap(end, 4096, 3, 0x100022, -1, 0)  # private, anonymous, there or nowhere
if place == end:
    ctypes.memmove(place, names * 256, 4096)
hooks.rename()
print(hooks._kept[0] != hooks._NAMES[0], len(kept[0]))
"""


def in_a_process(code: str) -> str:
    """What `code` prints in a process of its own: the hooks change numpy for good."""
    program = textwrap.dedent(f"{ASKED}\nimport numpy as np\nfrom rlm_secure.guest.packages import hooks\n") + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=150)
    return done.stdout.strip() or done.stderr.strip().splitlines()[-1]


def test_without_the_hooks_an_attribute_is_taken_for_memory() -> None:
    assert in_a_process("print(np.asarray(Asked()).dtype)") == "uint8"


def test_with_them_it_is_not_and_numpy_itself_works() -> None:
    code = """
    hooks.rename()
    hooks.rename()
    view = np.lib.stride_tricks.sliding_window_view(np.arange(4), 2)
    print(np.asarray(Asked()).dtype, view.tolist(), np.lib.stride_tricks.as_strided(np.arange(4), (2,)).tolist())
    """
    assert in_a_process(code) == "object [[0, 1], [1, 2], [2, 3]] [0, 1]"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("hooks._pointers = lambda *values: []", "numpy keeps __array_interface__ in 0 places; only one was reviewed"),
        ("found = hooks._pointers\nhooks._pointers = lambda *values: found(*values) * 2", "numpy keeps __array_interface__ in 2 places"),
        ("import ctypes\nhooks.ctypes.c_void_p = type('P', (), {'from_address': lambda place: type('V', (), {})()})", "numpy still takes memory from an attribute of an object"),
    ],
)  # fmt: skip
def test_a_numpy_that_keeps_its_names_otherwise_is_refused(change: str, error: str) -> None:
    assert error in in_a_process(f"{textwrap.dedent(change)}\nhooks.rename()\nprint('renamed')")


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ("from numpy._core import _multiarray_umath as umath\numath.get_handler_name = lambda: 'other'", "an allocator that was not reviewed"),
        ("np.empty = lambda size, dtype: np.full(size, 255, dtype)", "numpy still shows what was in its memory"),
    ],
)  # fmt: skip
def test_a_numpy_that_allocates_otherwise_is_refused(change: str, error: str) -> None:
    assert error in in_a_process(f"{change}\nhooks.clear()\nprint('cleared')")


def test_only_what_lies_where_a_pointer_may_is_taken_for_one() -> None:
    target = id(ASKED)
    memory = ctypes.create_string_buffer(b"\0" * 8 + struct.pack("=Q", target) + b"\0" * 3 + struct.pack("=Q", target) + b"\0" * 5)
    start = ctypes.addressof(memory)
    assert hooks._pointers(start, start + 32, target) == [start + 8]


def test_only_the_packages_of_the_set_are_found(tmp_path: Path) -> None:
    for name in ("numexpr", "six", "numpy"):
        (tmp_path / f"{name}.py").write_text("")
    inside: dict[str, Any] = {}
    before = list(sys.meta_path)
    with finder.found(["pandas"], [str(tmp_path)]):
        last = sys.meta_path[-1]
        for name in ("numexpr", "six"):
            inside[name] = last.find_spec(name) is not None
        assert last.find_spec("six.moves", ["somewhere"]) is None
    assert sys.meta_path == before
    assert inside == {"numexpr": False, "six": True}


@pytest.mark.parametrize(
    ("entries", "error"),
    [
        ([], "No module named 'numpy'"),
        (["numpy"], "No module named 'numpy'"),
        (["numpy/__init__.py"], "the version of numpy cannot be told; 2.4 or newer is needed"),
        (["numpy.py", "numpy-2.dist-info", "numpy_ml-3.1.dist-info", "numpy-2.4.0"], "the version of numpy cannot be told"),
        (["numpy/__init__.py", "numpy-1.99.0.dist-info"], "numpy 1.99 is too old; 2.4 or newer is needed"),
        (["numpy/__init__.py", "numpy-2.4.0.dist-info", "numpy-2.3.5.egg-info"], "numpy 2.3 is too old"),
        (["numpy/__init__.py", "numpy-2.4.0.dist-info"], ""),
        (["numpy/__init__.py", "numpy-2.4.dist-info"], ""),
        (["numpy/__init__.py", "numpy-2.10.dev1.dist-info"], ""),
        (["numpy/__init__.py", "numpy-3.0.0rc1.dist-info"], ""),
    ],
)
def test_what_is_older_than_was_reviewed_is_refused_before_it_is_imported(
    tmp_path: Path, entries: list[str], error: str
) -> None:
    for name in entries:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise AssertionError") if name.endswith(".py") else (tmp_path / name).mkdir()
    with pytest.raises(ImportError, match=error) if error else contextlib.nullcontext():
        finder.check(["numpy"], [str(tmp_path / "none"), str(tmp_path)])


def test_the_extra_asks_for_what_was_reviewed() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["data"]
    assert extra == [f"{name}>={major}.{minor}" for name, (major, minor) in finder.OLDEST.items()]


def test_the_finder_is_gone_after_a_package_that_is_broken(tmp_path: Path) -> None:
    before = list(sys.meta_path)
    with pytest.raises(ModuleNotFoundError), finder.found(["numpy"], [str(tmp_path)]):
        importlib.import_module("numpy_that_is_not_there")
    assert sys.meta_path == before


def test_every_module_of_a_zygote_with_packages_is_known() -> None:
    """What a set of packages brings in, by its first name: no optional part of the host's site-packages."""
    code = """
    import sys, json
    from rlm_secure.guest import packages
    before = set(sys.modules)
    paths = [each for each in sys.path if each.endswith("site-packages")]
    sys.path[:] = [each for each in sys.path if each not in paths and each]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("numpy",)]:
        del sys.modules[name]
    packages.load(["matplotlib", "numpy", "pandas"], paths)
    print(json.dumps(sorted({each.partition(".")[0] for each in sys.modules if each not in before})))
    """
    program = textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=280)
    tops = set(json.loads(done.stdout)) - sys.stdlib_module_names
    allowed = {name for needed in finder.NEEDS.values() for name in needed}
    assert {each for each in tops if not each.startswith(("_cython", "cython", "_distutils"))} <= allowed, done.stderr


def test_memory_beside_numpy_s_own_is_not_searched() -> None:
    done = subprocess.run([sys.executable, "-c", BESIDE], capture_output=True, text=True, timeout=280)
    assert done.stdout == "True 1048576\n", done.stderr
