"""Modules that are written in the Python of cells: complete, screened, and the same as plain Python's in usual use."""

from __future__ import annotations

import contextlib
import importlib
import io
import struct
import types
from typing import Any

import pytest

from rlm_secure.guest.language import guards, imports, library, registry
from rlm_secure.guest.session import worker

from .cells import Session, plain


def load(name: str) -> Any:
    return library.load(name, guards.build_globals(imports.NAMES, print))


@pytest.mark.parametrize("name", sorted(library.NAMES - {"concurrent"}))
def test_every_public_name_of_the_module_is_decided(name: str) -> None:
    module = importlib.import_module(name)
    public = {
        word
        for word in getattr(module, "__all__", None) or dir(module)
        if not word.startswith("_") and not isinstance(getattr(module, word), types.ModuleType)
    }
    made = load(name)
    decided = {*type(made)._members, *type(made)._left_out}
    assert public - decided == set()


@pytest.mark.parametrize("name", sorted(library.NAMES))
def test_what_it_offers_is_made_of_what_a_cell_can_make(name: str) -> None:
    """Its classes are a cell's own, and its functions have guards in their globals."""
    made = load(name)
    for word in dir(made):
        value = getattr(made, word)
        if isinstance(value, type) and value.__module__ == name and value is not struct.error:
            assert registry.own_class(value)
        if type(value) is types.FunctionType and value.__globals__.get("__name__") == name:
            assert type(value.__globals__["__builtins__"]).__name__ == "Builtins"
            assert value.__code__.co_filename == f"<{name}>"


def test_a_session_has_each_once() -> None:
    session = Session()
    assert session.run("import queue\na = queue.Empty") == ""
    assert session.run("import queue\nprint(a is queue.Empty)") == "True\n"
    assert Session().run("import concurrent.futures as f, concurrent\nprint(concurrent.futures is f)") == "True\n"


def test_a_policy_that_grants_one_grants_nothing_that_it_uses() -> None:
    session = Session(frozenset({"logging"}))
    assert session.outcome("import logging") == "ran"
    assert session.outcome("import sys") == "import-module"
    assert session.outcome("import traceback") == "import-module"


def test_an_unknown_module_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        library.load("socket", {})


SAME = [
    "import threading\nout = []\nlock = threading.Lock()\ndef f(x, by=1):\n    with lock: out.append(x * by)\nts = [threading.Thread(target=f, args=(i,), kwargs={'by': 2}, daemon=True) for i in range(3)]\nfor t in ts: t.start()\nfor t in ts: t.join(); print(t.is_alive())\nprint(out)\nclass Mine(threading.Thread):\n    def __init__(self, x):\n        super().__init__(name='mine')\n        self.x = x\n    def run(self): print(self.x, self.name, threading.current_thread().name)\nm = Mine(4); m.start(); m.join()",
    "import os\nprint(os.environ.get('NOT_THERE'), os.getenv('NOT_THERE', 'x'), 'NOT_THERE' in os.environ)\nos.environ['NOT_THERE'] = 'y'\nprint(os.getenv('NOT_THERE'))\ndel os.environ['NOT_THERE']",
    "import os.path\nprint(os.path.join('a', 'b'), os.path.splitext('x.tar.gz'), os.path.basename('/a/b'), os.path.abspath('/a/../b'), os.path.relpath('/a/b', '/a/c'), os.path.exists('/not there'), os.path.commonpath(['/a/b', '/a/c']), os.sep)",
    "import sys\nprint(sys.version_info >= (3, 8), sys.version_info[:2] == (sys.version_info.major, sys.version_info.minor), sys.maxsize, sys.float_info.epsilon, sys.byteorder, sys.getsizeof(1))\ntry: sys.exit(3)\nexcept SystemExit as e: print(e.code)\ntry: 1 / 0\nexcept ZeroDivisionError: print(sys.exc_info()[:2])\nprint(sys.exc_info(), sys.intern('a'))",
    "import shlex, fnmatch, colorsys\nprint(shlex.split(\"a 'b c' # d\", comments=True), shlex.quote('a b'), shlex.join(['a', 'b c']), fnmatch.filter(['a.py', 'b.c'], '*.py'), fnmatch.fnmatch('x', '?'), colorsys.rgb_to_hsv(.1, .2, .3))",
    "import struct\nprint(struct.pack('<IHd', 1, 2, .5), struct.unpack('>H', b'\\1\\2'), struct.calcsize('3sI'))",
    "import struct\ns = struct.Struct('<2h')\nprint(s.size, s.format, s.pack(1, -2), s.unpack_from(b'\\0' * 9, 3))",
    "import struct\nb = bytearray(6)\nstruct.pack_into('<H', b, 2, 513)\nprint(b, list(struct.iter_unpack('<H', bytes(b))))",
    "import struct\ntry: struct.unpack('I', b'')\nexcept struct.error as e: print(e)",
    "import array\na = array.array('i', [3, 1, 2])\na.append(9)\na.extend([4])\na.insert(0, 7)\na[1] = 5\nprint(a, a[-1], a[1:3], len(a), sum(a))\na.remove(9); a.reverse(); print(a.tolist(), a.index(2), a.count(5), a.pop(), 5 in a, a == array.array('i', a))",
    "from array import array\na = array('d', [1, 2.5]); a += array('d', [3]); print(a * 2, a.tobytes(), a.itemsize, a.typecode)\nb = array('B', b'ab'); b.frombytes(b'c'); print(b, bytes(b))",
    "import array\nfor bad in (lambda: array.array('b', [300]), lambda: array.array('i', ['x']), lambda: array.array('z')):\n    try: bad()\n    except Exception as e: print(type(e).__name__)",
    "import array, copy\na = array.array('f', [0.1]); print(a, copy.copy(a), copy.deepcopy(a), array.array('u', 'hé').tounicode())\na = array.array('H', [1, 2]); a.byteswap(); print(a); del a[0]; print(a, array.array('i'))",
    "import queue\nq = queue.Queue(2)\nq.put(1); q.put(2)\nprint(q.full(), q.qsize(), q.get(), q.get(), q.empty())\ntry: q.get_nowait()\nexcept queue.Empty: print('empty')\nq.put(1); q.put(1)\ntry: q.put(3, timeout=0.01)\nexcept queue.Full: print('full')",
    "import queue\nq = queue.PriorityQueue()\nfor x in (3, 1, 2): q.put((x, str(x)))\nwhile not q.empty(): print(q.get())\nl = queue.LifoQueue(); l.put(1); l.put(2); print(l.get()); s = queue.SimpleQueue(); s.put(5); print(s.get(), s.empty())",
    "import queue\nq = queue.Queue()\nq.put(1)\nq.get()\nq.task_done()\nq.join()\ntry: q.task_done()\nexcept ValueError as e: print(e)",
    "import hmac, hashlib\nh = hmac.new(b'key', b'msg', hashlib.sha256)\nc = h.copy(); h.update(b'more')\nprint(h.hexdigest(), c.hexdigest(), h.name, h.digest_size, h.block_size)\nprint(hmac.digest(b'k' * 200, b'm', 'sha1'), hmac.compare_digest('a', 'a'))",
    "import secrets\nprint(len(secrets.token_hex(8)), len(secrets.token_bytes()), secrets.choice([1]), secrets.randbelow(1), 0 <= secrets.randbits(5) < 32, len(secrets.token_urlsafe(9)))",
    "from graphlib import TopologicalSorter, CycleError\nt = TopologicalSorter({'d': ['b', 'c'], 'b': ['a'], 'c': ['a']})\nprint(list(t.static_order()))\ntry: list(TopologicalSorter({1: [2], 2: [1]}).static_order())\nexcept CycleError as e: print(e.args[0], sorted(set(e.args[1])))",
    "from graphlib import TopologicalSorter\nt = TopologicalSorter(); t.add('x', 'y'); t.prepare()\nwhile t.is_active():\n    for n in t.get_ready(): print(n); t.done(n)",
    "import threading\nlock = threading.Lock()\nwith lock: print(lock.locked(), lock.acquire(blocking=False))\nr = threading.RLock()\nwith r:\n    with r: print('in')\ne = threading.Event(); e.set(); print(e.wait(), e.is_set(), threading.current_thread().name)\nd = threading.local(); d.x = 1; print(d.x)\ns = threading.BoundedSemaphore(1)\nwith s: pass\ntry: s.release()\nexcept ValueError as x: print(x)",
    "from concurrent.futures import ThreadPoolExecutor, as_completed, wait\ndef f(x):\n    if x == 2: raise ValueError('two')\n    return x * x\nwith ThreadPoolExecutor(max_workers=3) as pool:\n    fs = {pool.submit(f, x): x for x in range(4)}\n    for each in sorted(as_completed(fs), key=fs.get):\n        print(fs[each], each.done(), each.exception() or each.result())\n    print(list(pool.map(f, [0, 1])), list(pool.map(pow, [2, 3], [2, 2])))\n    done, rest = wait(fs); print(len(done), len(rest))",
    "import concurrent.futures\nwith concurrent.futures.ThreadPoolExecutor() as pool:\n    future = pool.submit(int, 'x')\n    got = []\n    future.add_done_callback(got.append)\ntry: future.result()\nexcept ValueError as e: print(e)\ntry: pool.submit(int)\nexcept RuntimeError as e: print(e)",
    "from pathlib import PurePath, PurePosixPath, PureWindowsPath\np = PurePosixPath('/usr/lib') / 'x.tar.gz'\nprint(p, repr(p), p.name, p.stem, p.suffix, p.suffixes, p.parent, p.parts, list(p.parents), p.anchor, p.root, p.drive)\nprint(p.with_suffix('.zip'), p.with_name('y'), p.with_stem('z'), p.relative_to('/usr'), p.is_absolute(), p.match('*.gz'), p.match('/usr/*/*'), p.as_uri(), p.joinpath('a', '/b'))\nprint(PurePath('a//b/./c'), PurePath(), PurePath('a') == PurePath('a/'), hash(PurePath('a')) == hash(PurePath('a')), PurePath('a') < PurePath('b'), 'x' / PurePath('y'), p.is_relative_to('/usr'))",
    "from pathlib import PureWindowsPath as W\np = W('C:/Users\\\\me/f.TXT')\nprint(p, repr(p), p.drive, p.root, p.anchor, p.parts, p.parent, p.as_posix(), p == W('c:\\\\users\\\\ME\\\\F.txt'), p / 'D:x', p / '/y', W('//srv/share/a').parts, W('c:a').is_absolute(), p.as_uri())",
    "from pathlib import PurePosixPath as P\nfor bad in (lambda: P('/a').relative_to('/b'), lambda: P('').with_name('x'), lambda: P('a').with_suffix('x'), lambda: P(3)):\n    try: bad()\n    except Exception as e: print(type(e).__name__)",
    "import warnings\nwith warnings.catch_warnings(record=True) as w:\n    warnings.simplefilter('always')\n    warnings.warn('old', DeprecationWarning)\n    warnings.warn('x')\nprint(len(w), w[0].category.__name__, w[0].message, w[1].lineno)",
    "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('error')\n    try: warnings.warn('bad')\n    except UserWarning as e: print(repr(e))\nwarnings.filterwarnings('ignore', message='th')\nwith warnings.catch_warnings(record=True) as w:\n    warnings.warn('this'); warnings.warn('other'); print([str(x.message) for x in w])",
    "import traceback\ndef f(): return 1 / 0\ntry: f()\nexcept ZeroDivisionError as e:\n    print(traceback.format_exc())\n    print(''.join(traceback.format_exception(e)))\n    print(traceback.format_exception_only(e), traceback.format_exception(type(e), e, None)[-1])",
    "import traceback\ntry:\n    try: [][1]\n    except IndexError as e: raise KeyError('k') from e\nexcept KeyError: print(traceback.format_exc())\ntry:\n    try: [][1]\n    except IndexError: {}['z']\nexcept KeyError: print(traceback.format_exc(chain=True))\ntry: raise ValueError\nexcept ValueError as e: print(traceback.format_exception_only(e))",
    "import io, logging\nout = io.StringIO()\nlogging.basicConfig(stream=out, level=logging.DEBUG, format='%(levelname)-8s %(name)s %(lineno)d %(funcName)s: %(message)s', force=True)\nlog = logging.getLogger('a.b')\ndef f(): log.info('hi %s %d', 'x', 3)\nf(); log.debug({'a': 1}); logging.warning('%(k)s', {'k': 1}); log.error('no args %')\nprint(out.getvalue(), log.level, log.getEffectiveLevel(), log.name, log.parent, log.isEnabledFor(10))",
    "import io, logging\nout = io.StringIO()\nlog = logging.getLogger('mine'); log.setLevel('INFO'); log.propagate = False\nh = logging.StreamHandler(out); h.setFormatter(logging.Formatter('{levelname}|{message}', style='{')); log.addHandler(h)\nlog.debug('no'); log.info('yes'); log.critical('boom')\ntry: 1 / 0\nexcept ZeroDivisionError: log.exception('failed')\nprint(out.getvalue())\nclass Mine(logging.Handler):\n    def emit(self, record): print('got', record.getMessage(), record.levelname, record.name)\nlog.addHandler(Mine()); log.removeHandler(h); log.warning('w %s', 1); print(log.hasHandlers(), logging.getLevelName(30), log)",
    "import logging\na = logging.getLogger('x.y.z'); b = logging.getLogger('x'); c = logging.getLogger('x.y')\nprint(a.parent is c, c.parent is b, b.parent is logging.getLogger(), a.getChild('q').name, logging.getLogger('x') is b)\nclass F(logging.Filter):\n    def filter(self, record): return 'ok' in record.msg\nout = []\nclass H(logging.Handler):\n    def emit(self, record): out.append(self.format(record))\nb.addFilter(F()); b.addHandler(H()); b.propagate = False; b.error('ok'); b.error('no'); print(out)\nlogging.disable(logging.CRITICAL); b.error('ok'); print(out); logging.disable(logging.NOTSET)",
]  # fmt: skip


@pytest.mark.parametrize("cell", SAME)
def test_it_does_what_plain_python_does(cell: str) -> None:
    assert Session().run(cell) == plain(cell)[0]


@pytest.mark.parametrize(
    "cell",
    [
        "import queue\nqueue.Queue().get()",
        "import queue\nq = queue.Queue(1)\nq.put(1)\nq.put(2)",
        "import queue\nqueue.SimpleQueue().get()",
        "import queue\nq = queue.Queue()\nq.put(1)\nq.join()",
        "import threading\nl = threading.Lock()\nl.acquire()\nl.acquire()",
        "import threading\nthreading.Event().wait()",
        "import threading\nthreading.Semaphore(0).acquire()",
        "import threading\nthreading.Condition().wait()",
        "import concurrent.futures\nconcurrent.futures.Future().result()",
    ],
)
def test_what_would_wait_forever_is_an_error(cell: str) -> None:
    assert Session().outcome(cell) == "RuntimeError"


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("from pathlib import Path", "use pathlib.PurePath"),
        ("import concurrent.futures as f\nf.ProcessPoolExecutor()", "llm_query_batched"),
        ("import logging\nlogging.FileHandler('x')", "there are no files"),
        ("import logging\nlogging.basicConfig(filename='x')", "there are no files"),
        ("import os\nos.listdir('.')", "there are no files"),
        ("import os\nos.putenv('a', 'b')", "use os.environ"),
        ("import os\nos.system('ls')", "no cell may"),
        ("import sys\nsys.modules", "import statement"),
        ("import sys\nsys.settrace(None)", "leads into the interpreter"),
    ],
)
def test_what_is_left_out_says_what_to_do(cell: str, says: str) -> None:
    with pytest.raises(Exception, match=says):
        Session().run(cell)


def test_messages_go_to_the_cells_stderr() -> None:
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        Session().run(
            "import logging, sys, traceback, warnings\n"
            "logging.warning('one')\n"
            "def f():\n    warnings.warn('two', stacklevel=2)\n"
            "f()\nf()\n"
            "print('three', file=sys.stderr)\n"
            "try: 1 / 0\nexcept ZeroDivisionError: traceback.print_exc()\n"
        )
    assert errors.getvalue() == (
        "WARNING:root:one\nCell:5: UserWarning: two\nCell:6: UserWarning: two\nthree\n"
        'Traceback (most recent call last):\n  File "<cell>", line 8, in <module>\nZeroDivisionError: division by zero\n'
    )


def test_a_traceback_has_no_frames_but_the_cells() -> None:
    shown = Session().run(
        "import json, traceback, queue\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "for bad in (lambda: json.loads('{'), lambda: queue.Queue().get(), lambda: ThreadPoolExecutor(0)):\n"
        "    try: bad()\n    except Exception: print(traceback.format_exc())\n"
    )
    assert "/" not in shown.replace("x/y", "") and "guest" not in shown
    assert shown.count('File "<cell>", line 3') == 3


ASYNC = [
    "import asyncio\nasync def f(x):\n    await asyncio.sleep(x / 100)\n    print('done', x)\n    return x * 2\nasync def main():\n    print(await asyncio.gather(f(3), f(1), f(2)))\n    print(await f(0))\nasyncio.run(main())",
    "import asyncio\nasync def slow():\n    try: await asyncio.sleep(10)\n    except asyncio.CancelledError:\n        print('cancelled'); raise\nasync def main():\n    try: await asyncio.wait_for(slow(), 0.01)\n    except asyncio.TimeoutError: print('timeout')\n    try:\n        async with asyncio.timeout(0.01): await asyncio.sleep(10)\n    except TimeoutError: print('again')\n    t = asyncio.create_task(slow()); await asyncio.sleep(0); t.cancel()\n    try: await t\n    except asyncio.CancelledError: print(t.cancelled(), t.done())\nasyncio.run(main())",
    "import asyncio\nasync def bad(): raise ValueError('no')\nasync def ok(): return 1\nasync def main():\n    print(await asyncio.gather(bad(), ok(), return_exceptions=True))\n    try: await asyncio.gather(ok(), bad())\n    except ValueError as e: print(e)\n    t = asyncio.create_task(bad(), name='b'); await asyncio.wait([t]); print(repr(t.exception()), t.get_name())\n    done, rest = await asyncio.wait([asyncio.create_task(ok()), asyncio.create_task(asyncio.sleep(5))], return_when=asyncio.FIRST_COMPLETED)\n    print(len(done), len(rest))\nasyncio.run(main())",
    "import asyncio\nasync def main():\n    sem, running, most = asyncio.Semaphore(2), 0, 0\n    async def work(i):\n        nonlocal running, most\n        async with sem:\n            running += 1; most = max(most, running)\n            await asyncio.sleep(0.001); running -= 1\n            return i\n    print(sorted([await c for c in asyncio.as_completed([work(i) for i in range(5)])]), most)\n    async with asyncio.TaskGroup() as group:\n        ts = [group.create_task(work(i)) for i in range(3)]\n    print([t.result() for t in ts])\n    lock = asyncio.Lock()\n    async with lock: print(lock.locked())\nasyncio.run(main())",
    "import asyncio\nasync def main():\n    q = asyncio.Queue(2)\n    async def put():\n        for i in range(5): await q.put(i)\n    async def get():\n        while True:\n            print(await q.get()); q.task_done()\n    g = asyncio.create_task(get()); await put(); await q.join(); g.cancel()\n    e = asyncio.Event(); asyncio.get_running_loop().call_later(0.001, e.set); print(await e.wait())\n    c = asyncio.Condition()\n    async def waiter():\n        async with c:\n            await c.wait(); return 'woken'\n    t = asyncio.create_task(waiter()); await asyncio.sleep(0)\n    async with c: c.notify_all()\n    print(await t, await asyncio.shield(asyncio.sleep(0, 5)), await asyncio.to_thread(pow, 2, 3), await asyncio.get_running_loop().run_in_executor(None, len, 'ab'))\n    p = asyncio.PriorityQueue(); p.put_nowait(2); p.put_nowait(1); print(await p.get(), p.qsize())\n    try: asyncio.Queue().get_nowait()\n    except asyncio.QueueEmpty: print('empty')\nasyncio.run(main())",
    "import asyncio\nclass C:\n    async def __aenter__(self): return 'in'\n    async def __aexit__(self, kind, error, trace): print(kind.__name__ if kind else None); return True\nclass I:\n    n = 0\n    def __aiter__(self): return self\n    async def __anext__(self):\n        self.n += 1\n        if self.n > 3: raise StopAsyncIteration\n        return self.n\nclass A:\n    def __await__(self):\n        yield from asyncio.sleep(0).__await__() if False else ()\n        return 'awaited'\nasync def main():\n    async with C() as c: print(c); raise ValueError\n    async for i in I(): print(i)\n    else: print('end')\n    print([i async for i in I() if i > 1], {i: await A() async for i in I()})\n    async with C(), C(): pass\nasyncio.run(main())",
    "import asyncio\nloop = asyncio.new_event_loop()\nasync def f(): return 3\nprint(loop.run_until_complete(f())); loop.close()\nprint(asyncio.iscoroutinefunction(f), asyncio.iscoroutinefunction(len))\nc = f(); print(asyncio.iscoroutine(c)); c.close()\nasync def main():\n    print(asyncio.current_task() is not None, len(asyncio.all_tasks()))\n    try: asyncio.run(f())\n    except RuntimeError as e: print(e)\nasync def outer(): await main()\nx = outer(); asyncio.run(x)\ntry: asyncio.run(3)\nexcept ValueError as e: print(e)\ntry: asyncio.get_running_loop()\nexcept RuntimeError as e: print(e)",
]  # fmt: skip


@pytest.mark.parametrize("cell", ASYNC)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_tasks_do_what_they_do_in_plain_python(cell: str) -> None:
    assert Session().run(cell) == plain(cell)[0]


def test_a_cell_may_await_at_its_top_and_await_plain_values() -> None:
    session = Session(frozenset())
    session.space["llm_query"] = lambda prompt: f"to {prompt}"
    assert session.run("x = await llm_query('a')\nprint(x, await llm_query('b'))") == "to a to b\n"
    assert session.run("print(x, [await llm_query(p) for p in 'cd'])") == "to a ['to c', 'to d']\n"
    assert session.run("async def f(p):\n    return await llm_query(p)\nprint(await f('e'))") == "to e\n"
    assert session.outcome("import asyncio") == "import-module"
    assert session.outcome("await 1 / 0") == "ZeroDivisionError"
    assert session.outcome("await print") == "TypeError"


def test_gather_takes_replies() -> None:
    session = Session()
    session.space["llm_query"] = lambda prompt: f"to {prompt}"
    cell = "import asyncio\nprint(await asyncio.gather(llm_query('a'), llm_query('a'), asyncio.sleep(0, 1)))"
    assert session.run(cell) == "['to a', 'to a', 1]\n"


@pytest.mark.parametrize(
    "cell",
    [
        "import asyncio\nasyncio.run(asyncio.Event().wait())",
        "import asyncio\nasyncio.run(asyncio.Queue().get())",
        "import asyncio\nasync def main():\n    lock = asyncio.Lock()\n    await lock.acquire()\n    await lock.acquire()\nasyncio.run(main())",
    ],
)
def test_tasks_that_wait_for_each_other_end(cell: str) -> None:
    assert Session().outcome(cell) == "RuntimeError"


def test_star_import_binds_what_the_facade_has() -> None:
    session = Session()
    assert session.run("from math import *\nprint(sqrt(4), pi > 3)") == "2.0 True\n"
    assert session.run("if 1:\n    from queue import *\nprint(Queue.__name__)") == "Queue\n"
    assert session.outcome("from os import *\nsystem('ls')") == "NameError"
    assert session.outcome("from sys import *\nprint(_getframe)") == "NameError"
    assert session.outcome("from nothing import *") == "import-module"
    assert Session(frozenset({"re"})).outcome("from math import *") == "import-module"
    assert session.run("from sys import *\ntry: exit(3)\nexcept SystemExit as e: print(e.code)") == "3\n"


@pytest.mark.parametrize(
    ("cell", "rule"),
    [
        ("async def f(): pass\nc = f()\nloot = '{0.cr_code}'.format(c)", "format-attribute"),
        ("async def f(): pass\nc = f()\nc.__await__", "dunder-attribute"),
        ("async def f(): pass\nc = f()\ntype(c).__await__", "dunder-attribute"),
        ("async def f(): pass\nc = f()\ntype(c)()", "type-call"),
        ("async def f(): pass\nc = f()\nimport operator\noperator.attrgetter('cr_origin')(c)", "AttributeError"),
        ("async def f(__builtins__): pass", "dunder-name"),
        ("async def f():\n    async for x.__class__ in y: pass", "dunder-attribute"),
        ("async def f():\n    async with x as y.__dict__: pass", "dunder-attribute"),
        ("async def f():\n    _getattr_ = await x", "hook-name"),
        ("async def f(): 1 / 0\ntry: await f()\nexcept ZeroDivisionError as e: e.__traceback__", "dunder-attribute"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_coroutine_leads_nowhere(cell: str, rule: str) -> None:
    assert Session().outcome(cell) == rule


def test_a_worker_that_retires_releases_nothing_that_is_suspended() -> None:
    """To release it would run its `finally`, which nothing can stop there."""
    session, out = Session(), []
    session.space["out"] = out
    session.run(
        "class Turn:\n    def __await__(self): yield\n"
        "async def f(out=out):\n    try: await Turn()\n    finally: out.append('coroutine')\n"
        "def g(out=out):\n    try: yield\n    finally: out.append('generator')\n"
        "c, d = f(), g()\nc.send(None)\nnext(d)"
    )
    retired = worker.SessionWorker()
    retired._repl = types.SimpleNamespace(namespace=session.space)  # type: ignore[assignment]
    retired._retire({})
    assert "c" not in session.space
    assert out == []
    retired._suspended.clear()
    assert sorted(out) == ["coroutine", "generator"]
