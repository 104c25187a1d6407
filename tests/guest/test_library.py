"""Modules that are written in the Python of cells: complete, screened, and the same as plain Python's in usual use."""

from __future__ import annotations

import contextlib
import importlib
import io
import struct
import sys
import types
import warnings
from typing import Any

import pytest

from rlm_secure.environments.replay import begin
from rlm_secure.guest.language import guards, imports, library, registry
from rlm_secure.guest.language.facades import system
from rlm_secure.guest.session import worker
from rlm_secure.policy import load_policy
from tests.local.kernels import in_child

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


TEMPLATES = '''
from string import Template, ascii_lowercase
import string
t = Template("Hi $name, ${x}s $$5 $name")
print(t.substitute(name="A", x=1), t.safe_substitute(x=2), t.get_identifiers(), t.template)
for bad in ("$", "line\\n $5"):
    try: Template(bad).substitute()
    except ValueError as e: print(e)
    print(Template(bad).safe_substitute())
try: t.substitute({})
except KeyError as e: print(e)
print(t.substitute({"name": "m", "x": 3}, name="kw"))
class P(Template):
    delimiter = "%"
    idpattern = r"[a-z]+"
print(P("%a $b %%").substitute(a=1), P.pattern.flags == Template.pattern.flags, P.delimiter)
class Q(string.Template):
    pattern = r"""
    \\[\\[(?:(?P<escaped>\\[\\[)|(?P<named>[a-z]+)\\]\\]|\\b\\B(?P<braced>)|(?P<invalid>))
    """
print(Q("[[a]] b").substitute(a="z"))
print(isinstance(P("x"), Template), Template.__name__, Template("$É").safe_substitute())
'''

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
    "import io, sys\nfrom contextlib import redirect_stdout, redirect_stderr\nout = io.StringIO()\nwith redirect_stdout(out):\n    print('a')\n    with redirect_stdout(io.StringIO()) as inner: print('b')\n    sys.stdout.write('c')\nprint(repr(out.getvalue()), repr(inner.getvalue()))\ntry:\n    with redirect_stdout(out): 1 / 0\nexcept ZeroDivisionError: print('back')",
    "import io, sys, pprint\nkept, sys.stdout = sys.stdout, io.StringIO()\nprint('x'); pprint.pprint({1: 2}); pprint.pp([3])\ngot = sys.stdout.getvalue()\nsys.stdout = kept\nprint(repr(got))",
    "from collections import UserDict\nclass D(UserDict):\n    def __missing__(self, key): return key * 2\n    def __setitem__(self, key, value): super().__setitem__(key.lower(), value)\nd = D({'A': 1}, B=2)\nprint(d, d['zz'], 'a' in d, d.get('a', 0), d | {'c': 3}, {'c': 3} | d, d.copy(), len(d), D.fromkeys('xy', 0), d.pop('a'), isinstance(d, dict))\nd |= {'e': 5}; print(dict(d))",
    "from collections import UserList, UserString\nl = UserList([3, 1]); l.extend([2]); l += [9]; l.sort(); l.insert(0, 7)\nprint(l, l[0], l[1:], l + [1], [0] + l, l * 2, l == [7, 1, 2, 3, 9], l.index(9), l.pop(), l.count(1), sorted(l), 3 in l)\nl.remove(7); l.reverse(); print(l, l.copy() == l); l.clear(); print(l)\ns = UserString('Hello'); print(s.upper(), s + '!', s[1:3], len(s), 'ell' in s, s.replace('l', 'L'), s.split('l'), s == 'Hello', hash(s) == hash('Hello'), int(UserString('4')), s * 2, s.format(), s.join('ab'), '%s' % s)",
    "import functools\n@functools.singledispatch\ndef f(x, y=0): 'doc'; return ('any', x, y)\n@f.register\ndef _(x: int, y=0): return ('int', x, y)\n@f.register(list)\n@f.register(tuple)\ndef _(x, y=0): return ('seq', [f(i) for i in x])\n@f.register\ndef _(x: 'str'): return 'text'\n@f.register\ndef _(x: float | None): return 'maybe'\nprint(f(1), f(True, y=2), f([1, 'a', None]), f({}), f(1.5), f.__name__, f.__doc__, f.dispatch(int)(5), len(f.registry))\ntry: f()\nexcept TypeError as e: print(e)\ntry: f.register(lambda x: x)\nexcept TypeError as e: print('bad')",
    "import functools\nfrom collections.abc import Mapping\nclass A:\n    def __init__(self): self.v = 1\n    @functools.singledispatchmethod\n    def go(self, x): return ('other', self.v)\n    @go.register\n    def _(self, x: int): return ('int', self.v)\n    @go.register(Mapping)\n    def _(self, x): return 'map'\n    @functools.singledispatchmethod\n    @classmethod\n    def made(cls, x): return cls.__name__\n    def set(self, a, b=0): self.v = (a, b)\n    five = functools.partialmethod(set, 5, b=6)\na = A(); print(a.go(1), a.go('x'), a.go({}), A.made(1)); a.five(); print(a.v)",
    "import functools\ndef deco(f):\n    @functools.wraps(f)\n    def w(*a): return f(*a)\n    return w\n@deco\ndef g(x): 'doc'; return x\ng.n = 1\nprint(g.__wrapped__(2), g.__name__, g.__doc__, sorted(vars(g)), hasattr(deco, '__wrapped__'), getattr(deco, '__wrapped__', 3))\n@functools.lru_cache\ndef h(x): return x + 1\nprint(h.__wrapped__(3))\nclass C:\n    def __init__(self, f): functools.update_wrapper(self, f); self.f = f\n    def __call__(self, *a): return self.f(*a)\nc = C(g); print(c.__name__, c.__doc__, c.__wrapped__ is g, c.n, c(4), hasattr(c, 'm'))",
    TEMPLATES,
    "import io\nw = io.TextIOWrapper(io.BytesIO('ä\\r\\nb\\nc'.encode()), encoding='utf-8')\nprint(w.readline(), w.read(1), w.readlines(), w.encoding, w.readable(), w.closed)\nb = io.BytesIO()\nwith io.TextIOWrapper(b, encoding='latin-1', newline='\\r\\n') as t:\n    print('é\\nx', file=t); t.flush(); print(b.getvalue())\nprint(b.closed)\ntry: t.write('x')\nexcept ValueError as e: print(e)",
    "import argparse\np = argparse.ArgumentParser(prog='p', description='About it.', epilog='End.')\np.add_argument('src', help='the source')\np.add_argument('dst', nargs='?', default='out')\np.add_argument('-n', '--num', type=int, default=2, help='how many (default: %(default)s)')\np.add_argument('-q', action='store_true')\np.add_argument('--tag', action='append', default=[])\ng = p.add_mutually_exclusive_group()\ng.add_argument('--a', action='store_true')\ng.add_argument('--b', action='store_const', const=7)\np.add_argument('--mode', choices=['x', 'y'])\nprint(p.parse_args(['s']), p.parse_args(['s', 'd', '-qn5', '--tag=1', '--tag', '2', '--b', '--mode', 'y']))\nprint(p.parse_known_args(['s', '--zz', '-n', '-3']))\nprint(p.format_help())\nfor bad in ([], ['s', '--mode', 'z'], ['s', '-n', 'x'], ['s', '--a', '--b'], ['s', 'd', 'e'], ['s', '-n']):\n    try: p.parse_args(bad)\n    except SystemExit as e: print(e.code)",
    "import argparse\np = argparse.ArgumentParser(prog='tool')\np.add_argument('-v', action='count', default=0)\ns = p.add_subparsers(dest='cmd', required=True)\na = s.add_parser('add', help='add it'); a.add_argument('xs', nargs='+', type=float); a.set_defaults(f=sum)\nb = s.add_parser('rm'); b.add_argument('--force', action=argparse.BooleanOptionalAction)\nn = p.parse_args(['-vv', 'add', '1', '2.5']); print(n.cmd, n.xs, n.v, n.f(n.xs))\nprint(p.parse_args(['rm', '--no-force']))\nprint(p.format_usage())\ntry: p.parse_args(['what'])\nexcept SystemExit as e: print(e.code)\nq = argparse.ArgumentParser(prog='q', exit_on_error=False); q.add_argument('--i', type=int)\ntry: q.parse_args(['--i', 'x'])\nexcept argparse.ArgumentError as e: print(e)",
    "import configparser, io\nc = configparser.ConfigParser(inline_comment_prefixes=('#',))\nc.read_string('[DEFAULT]\\nhome = /h\\n[a]\\nPath: %(home)s/x # note\\nlist =\\n  one\\n  two\\n; no\\nempty =\\n[b]\\nn = 0x\\nf = 1.5\\nflag = off\\n')\nprint(c.sections(), dict(c['a']), c['b'].getfloat('f'), c.getboolean('b', 'flag'), c.get('b', 'zz', fallback=None), c['b'].get('q', 'dflt'), c.options('b'), dict(c.defaults()))\nfor bad in (lambda: c.getint('b', 'n'), lambda: c.get('zz', 'x'), lambda: c.get('b', 'zz'), lambda: c.read_string('x = 1'), lambda: c.add_section('a'), lambda: configparser.ConfigParser().read_string('[q]\\na=1\\na=2')):\n    try: bad()\n    except Exception as e: print(type(e).__name__, e)\nc['n'] = {'k': 'v', 'z': '5%%'}; c.set('n', 'w', 'u'); c.remove_option('b', 'n'); c.remove_section('a')\nout = io.StringIO(); c.write(out); print(out.getvalue(), c['n']['z'], 'n' in c, list(c), c.has_option('n', 'K'))",
    "import configparser\nc = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation(), allow_no_value=True)\nc.read_dict({'p': {'root': '/r', 'sub': '${root}/s'}, 'q': {'all': '${p:sub}/$$'}})\nc.read_string('[r]\\nbare\\n')\nprint(c['q']['all'], c['r']['bare'], c['p'])\nr = configparser.RawConfigParser(); r.optionxform = str\nr.read_string('[S]\\nKey=%(x)s\\n'); print(r.items('S'), r.get('S', 'Key'))",
    "from html.parser import HTMLParser\nclass P(HTMLParser):\n    def handle_starttag(self, t, a): print('+', t, a, self.getpos())\n    def handle_endtag(self, t): print('-', t)\n    def handle_data(self, d): print('d', repr(d))\n    def handle_comment(self, d): print('c', d)\n    def handle_decl(self, d): print('!', d)\n    def handle_pi(self, d): print('?', d)\np = P()\np.feed('<!DOCTYPE html>\\n<A HREF=x title=\"a &lt; b\" disabled>t &amp; u</a ><br/><!-- n --><script>if (a<b) \"</p>\"</script>&#65;<?x y>')\np.feed(' <im'); p.feed('g src=1>end'); p.close()\nq = P(convert_charrefs=False)\nq.handle_entityref = lambda n: print('e', n); q.handle_charref = lambda n: print('#', n)\nq.feed('a&lt;b&#66;<p>'); q.close(); print(q.get_starttag_text())",
    "import inspect, functools\ndef f(a, /, b: int = 1, *c, d='x', **e) -> str: 'Doc.'\nclass A:\n    def __init__(self, x, *, y=2): self.x = x\n    def m(self, z): return z\n@functools.wraps(f)\ndef w(*a): return f(*a)\nprint(inspect.signature(f), inspect.signature(A), inspect.signature(A(1).m), inspect.signature(w), inspect.getdoc(f))\nfor p in inspect.signature(f).parameters.values(): print(p, p.name, p.kind.name, p.default is p.empty, p.annotation)\nb = inspect.signature(f).bind(1, 2, 3, d=4, q=5); b.apply_defaults(); print(b.args, b.kwargs, b.arguments)\nfor bad in ((), (1, 2, 3)):\n    try: inspect.signature(A.m).bind(*bad)\n    except TypeError as e: print(e)\nprint(inspect.isfunction(f), inspect.isclass(A), inspect.ismethod(A(1).m), inspect.isbuiltin(len), inspect.ismodule(inspect), inspect.isgeneratorfunction(f), inspect.cleandoc(' a\\n   b'))",
    "import gc\nprint(gc.collect() >= 0, gc.isenabled()); gc.disable(); print(gc.isenabled()); gc.enable()",
    "from pathlib import Path\np = Path('a') / 'b.txt'\nprint(p, p.exists(), p.is_file(), p.is_dir(), p.suffix, p.with_suffix('.md'), list(p.glob('*')), isinstance(p, Path))\ntry: p.read_text()\nexcept FileNotFoundError as e: print(e.errno, e.filename)",
    "print(issubclass(SystemExit, BaseException), isinstance(SystemExit(), BaseException), isinstance(1, (str, BaseException)), issubclass(int, BaseException), isinstance(ValueError(), BaseException))",
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
        ("from pathlib import WindowsPath", "use pathlib.PureWindowsPath"),
        ("import pathlib\npathlib.Path('x').read_text()", "there are no files"),
        ("import pathlib\npathlib.Path('x').write_text('y')", "there are no files"),
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
        ("async def f(): 1 / 0\ntry: await f()\nexcept ZeroDivisionError as e: e.__traceback__.tb_frame", "closed-attribute"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_coroutine_leads_nowhere(cell: str, rule: str) -> None:
    assert Session().outcome(cell) == rule


_TRACE = "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    kept = error\ntrace = kept.__traceback__\n"


@pytest.mark.parametrize(
    ("cell", "outcome"),
    [
        ("assert trace.tb_lineno == 2 and repr(trace) == '<traceback object>'", "ran"),
        ("assert ValueError().with_traceback(trace).__traceback__ is None", "ran"),
        ("import traceback\nassert traceback.format_tb(trace) == ['  File \"<cell>\", line 2, in <module>\\n']", "ran"),
        ("import traceback\nassert traceback.extract_tb(trace)[-1].lineno == 2 and traceback.extract_tb(None) == []", "ran"),
        ("trace.tb_frame", "closed-attribute"),
        ("getattr(trace, 'tb_' + 'frame')", "closed-attribute"),
        ("trace._frames", "private-attribute"),
        ("type(trace)()", "type-call"),
        ("class T(type(trace)): pass", "class-base"),
        ("trace.tb_lineno = 3", "attribute-store"),
        ("kept.__traceback__ = None", "dunder-attribute"),
        ("setattr(kept, '__traceback__', None)", "attribute-store"),
        ("MemoryError().with_traceback(trace)", "TypeError"),
        ("type(kept).__traceback__", "dunder-attribute"),
    ],
)
def test_what_stands_for_a_traceback_leads_nowhere(cell: str, outcome: str) -> None:
    assert Session().outcome(_TRACE + cell) == outcome


@pytest.mark.parametrize(
    ("cell", "outcome"),
    [
        ("assert list[int].__args__ == (int,) and (int | str).__args__ == (int, str)", "ran"),
        ("assert typing.Annotated[int, 'm'].__metadata__ == ('m',) and typing.Annotated[int, 'm'].__origin__ is int", "ran"),
        ("assert getattr(int, '__origin__', None) is None and not hasattr(5, '__args__')", "ran"),
        ("typing.Type[int].__origin__('X', (), {})", "TypeError"),
        ("list[int].__origin__ = str", "dunder-attribute"),
        ("list[int].__args__ = ()", "dunder-attribute"),
        ("list[int].__parameters__", "dunder-attribute"),
        ("class A:\n    __args__ = ()", "dunder-name"),
    ],
)
def test_an_alias_tells_what_it_was_made_of(cell: str, outcome: str) -> None:
    assert Session().outcome(f"import typing\n{cell}") == outcome


def test_a_deeper_recursion_and_longer_numbers_hold_for_cells_alone() -> None:
    session, before = Session(), (sys.getrecursionlimit(), sys.get_int_max_str_digits())
    try:
        with system.RecursionOfCells():
            assert session.outcome("import sys\nsys.setrecursionlimit(10**9)\nassert sys.getrecursionlimit() == 10**9") == "ran"
            assert sys.getrecursionlimit() == 10_000
        assert sys.getrecursionlimit() == before[0]
        with system.RecursionOfCells():
            assert session.outcome("def f(n): return n and 1 + f(n - 1)\nassert f(9_000) == 9_000") == "ran"
            assert session.outcome("sys.setrecursionlimit(5)\nassert [f(50)] == [50]") == "ran"
        for given, holds in ((0, 100_000), (10**9, 100_000), (640, 4_300), (5_000, 5_000)):
            assert session.outcome(f"sys.set_int_max_str_digits({given})\nassert sys.get_int_max_str_digits() == {given}") == "ran"
            assert sys.get_int_max_str_digits() == holds
        assert session.outcome("sys.set_int_max_str_digits(5)") == "ValueError"
        assert session.outcome("sys.setrecursionlimit('5')") == "TypeError"
    finally:
        session.outcome(f"sys.setrecursionlimit({before[0]})\nsys.set_int_max_str_digits({before[1]})")


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


@pytest.mark.parametrize("ahead", [[], ["ignore"], ["always"], ["ignore", "always"]])
def test_a_session_is_quiet_whatever_filters_of_warnings_its_zygote_has(ahead: list[str]) -> None:
    def body() -> object:
        warnings.filters[:] = [(action, None, UserWarning, None, 0) for action in ahead] + [worker._IGNORED]  # type: ignore[index]
        worker.SessionWorker()._begin(begin(load_policy("strict"), None, screen=True))
        before_all = warnings.filters[: warnings.filters.index(worker._IGNORED)]
        return {action for action, *_ in before_all} <= {"ignore"}

    assert in_child(body) == "True"
