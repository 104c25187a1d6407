"""numpy, pandas and matplotlib in a sealed session: what works, and what leads out is closed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rlm_secure import Policy, Sandbox
from rlm_secure.environments.local.session import open_session
from rlm_secure.policy.load import load_policy

ROOT = Path(__file__).parents[2]
HEAD = """
import io, types, operator
import numpy as np, pandas as pd, matplotlib.pyplot as plt
arr = np.arange(4)
df = pd.DataFrame({"g": ["a", "b"], "x": [1.0, 2.0]})
"""


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    made = open_session(load_policy("data"))
    yield made
    made.close()


WORKS = {
    "np.linalg.inv(np.eye(2)).sum()": "2.0",
    "df.groupby('g')['x'].mean().sum()": "3.0",
    "df.x.sum()": "3.0",
    "df.agg({'x': ['mean', 'max']}).shape": "(2, 1)",
    "df.query('x > 1 and g == \"b\"').shape": "(1, 2)",
    "(lambda limit: df.query('x > @limit').shape)(1)": "(1, 2)",
    "np.array([1], dtype='int32').dtype.itemsize": "4",
    "df.merge(df, on='g').shape": "(2, 3)",
    "pd.read_csv(io.StringIO(df.to_csv(index=False))).equals(df)": "True",
    "pd.Timestamp('2024-05-05', tz='Asia/Tokyo').hour": "0",
    "f'{df.x.mean():.2f}'": "1.50",
    "np.vectorize(lambda v: v + 1)(arr).tolist()": "[1, 2, 3, 4]",
    "operator.attrgetter('shape')(df)": "(2, 2)",
    "isinstance(arr, np.ndarray)": "True",
    "len(plt.gca().triplot([0, 1, 0, 1], [0, 0, 1, 1]))": "2",
    "type(plt.gca().tricontourf([0, 1, 0, 1], [0, 0, 1, 1], [1, 2, 3, 4])).__name__": "TriContourSet",
    "type(df) is pd.DataFrame and type(df.x.max()) is np.float64": "True",
    "getattr(arr, 'ctypes', 'none')": "none",
    "df.style if hasattr(df, 'style') else 'no style'": "no style",
    "plt.gcf().canvas.get_width_height()": "(640, 480)",
    "(plt.gcf().canvas.draw(), plt.gcf().canvas.buffer_rgba().shape)[1]": "(480, 640, 4)",
    "[repr(pd.options), repr(pd.options.display), repr(plt.gcf().canvas), repr(plt.rc_context())]": (
        "['<pandas.options: display>', '<pandas.options.display>', '<canvas>', '<a with block>']"
    ),
    "[plt.rcParams.get('figure.hooks', 0), 'figure.hooks' in plt.rcParams, plt.rcParams.copy()['font.size']]": (
        "[0, False, 10.0]"
    ),
    "np.lib.stride_tricks.sliding_window_view(arr, [2], axis=0).shape": "(3, 2)",
    "[np.r_, np.mgrid]": "[<numpy.r_>, <numpy.mgrid>]",
    "len({(np.random.set_state(s), np.random.rand())[1] for s in [np.random.get_state()] for _ in (1, 2)})": "1",
    "len({(np.random.set_state(s), np.random.rand())[1] for s in [np.random.get_state(legacy=False)] for _ in (1, 2)})": "1",
    "[np.array([1.0]).view('int64').tolist(), arr.view().tolist()]": "[[4607182418800017408], [0, 1, 2, 3]]",
    "np.loadtxt(['1 2', '3 4']).tolist() + np.genfromtxt(('5,6',), delimiter=',').tolist()": "[[1.0, 2.0], [3.0, 4.0], 5.0, 6.0]",
    "[row._asdict() for row in df.itertuples()][1]": "{'Index': 1, 'g': 'b', 'x': 2.0}",
    "[df.__doc__.split()[0], pd.DateOffset.__name__]": "['Two-dimensional,', 'DateOffset']",
    "(plt.rcParams.update(plt.rcParams), repr(plt.rcParams)[:10])[1]": "RcParams({",
    "(plt.setp(plt.subplots(2, 2)[1], xlim=(0, 5)), {tuple(map(int, each.get_xlim())) for each in plt.gcf().axes})[1]": "{(0, 5)}",
}

CLOSED = [
    "print('WON', arr.ctypes.data)",
    "print('WON', arr.base, arr.data)",
    "print('WON', arr.__array_interface__)",
    "print('WON', getattr(arr, 'ctypes'))",
    "print('WON', '{0.ctypes.data}'.format(arr))",
    "print('WON', operator.attrgetter('ctypes.data')(arr))",
    "print('WON', operator.methodcaller('view', 'O')(arr))",
    "match arr:\n    case object(ctypes=c): print('WON', c)",
    "match 1:\n    case arr.ctypes: print('WON')",
    "match {1: 2}:\n    case {arr.ctypes: v}: print('WON', v)",
    "match 1:\n    case arr.ctypes(): print('WON')",
    "class A:\n    match arr:\n        case np.ndarray(): print('WON')",
    "arr.setflags(write=True); print('WON')",
    "arr.resize((10**6,), refcheck=False); print('WON')",
    "arr.dtype = object; print('WON')",
    "arr.strides = (10**6,); print('WON')",
    "np.ndarray((1,), 'O', b'x' * 8); print('WON')",
    "type(arr)((1,), 'O', b'x' * 8); print('WON')",
    "np.ndarray.tofile(arr, 'x'); print('WON')",
    "np.lib.stride_tricks.as_strided(arr, (10**6,)); print('WON')",
    "print('WON', np.core, np.ctypeslib)",
    "np.frombuffer(b'x' * 8, 'O'); print('WON')",
    "print('WON', np.array([df], dtype=object).tobytes())",
    # An object whose attributes say where its memory is.
    ("x = types.SimpleNamespace(**{'__array_interface__': {'data': (id, True), 'shape': (1,), 'typestr': '|u1',"
    " 'version': 3}})\nif np.asarray(x).dtype != object: print('WON')"),
    ("class A: pass\na = A()\nvars(a)['__array_interface__'] = {'shape': (1,), 'typestr': '|u1', 'data': b'x', "
    "'version': 3}\nif np.asarray(a).dtype != object: print('WON')"),
    ("class A:\n    def __getattr__(self, name):\n        if name.startswith('_'): print('WON', name)\n"
    "        return {'shape': (1,), 'typestr': '|u1', 'data': b'x', 'version': 3}\nnp.array([A()]); arr + A()"),
    "class A: pass\ndef f(self, name):\n    print('WON', name)\n    return {}\nA.__getattr__ = f\nnp.array([A()])",
    "class A: pass\nA.__array_interface__ = {}; print('WON')",
    ("class D:\n    def __eq__(self, o):\n        if type(o) is dict: o['a'] = (np.dtype(int), 99); print(o)\n        return True\n"
    "t = np.dtype([('a', 'i4'), ('b', 'i4')])\nt.fields == D()\nif 99 in [v[1] for v in t.fields.values()]: print('WON')"),
    "df.agg('to_pickle'); print('WON')",
    "df.agg(('__class__', 'mean')); print('WON')",
    "df.groupby('g').agg(a=('x', '__class__')); print('WON')",
    "df.apply(['_mgr']); print('WON')",
    "df.x.apply('__class__'); print('WON')",
    "df.groupby('g').apply('__class__'); print('WON')",
    "df.rolling(1, on='x').agg('__class__'); print('WON')",
    "df.pivot_table('x', 'g', aggfunc='__class__'); print('WON')",
    "print('WON', df._mgr)",
    "print('WON', arr.flags)",
    "print('WON', df.style)",
    "df.to_csv('/tmp/x'); print('WON')",
    "df.to_pickle(io.BytesIO()); print('WON')",
    "pd.read_csv('/etc/passwd'); print('WON')",
    "pd.read_csv(filepath_or_buffer='/etc/passwd'); print('WON')",
    "pd.read_csv('http://example.com'); print('WON')",
    "pd.read_pickle(io.BytesIO()); print('WON')",
    "np.load('/etc/passwd'); print('WON')",
    "np.load(io.BytesIO(b'\\x80\\x04.'), allow_pickle=True); print('WON')",
    "np.loadtxt('/etc/passwd'); print('WON')",
    "pd.set_option('plotting.backend', 'os'); print('WON')",
    "pd.set_option('display.width', 80, 'plotting.backend', 'os'); print('WON')",
    "with pd.option_context('mode.max_threads', 4): print('WON')",
    "print('WON', pd.options.mode)",
    "pd.options.mode.max_threads = 4; print('WON')",
    "pd.options.display.nothing = 4; print('WON')",
    "print('WON', pd.option_context('display.width', 80).func)",
    "print('WON', np.printoptions(precision=1).func)",
    "print('WON', plt.rc_context().func)",
    "print('WON', plt.style.context('ggplot').gen)",
    "print('WON', plt.figure().canvas.figure)",
    "print('WON', plt.figure().canvas.print_figure)",
    "plt.figure().set(canvas=df); print('WON')",
    "plt.setp(plt.figure(), canvas=df); print('WON')",
    "class A:\n    def set(self, **o): print('WON')\nplt.setp(A(), x=1)",
    "plt.rcParams['figure.hooks'] = ['os:system']; print('WON')",
    "plt.rc('figure', hooks=['os:system']); print('WON')",
    "plt.rcParams.update({'figure.hooks': ['os:system']}); print('WON')",
    "plt.style.use({'figure.hooks': ['os:system']}); print('WON')",
    "with plt.rc_context({'figure.hooks': ['os:system']}): print('WON')",
    "with plt.rc_context(fname='/etc/passwd'): print('WON')",
    "plt.style.use('/etc/passwd'); print('WON')",
    "plt.rcParams['axes.prop_cycle'] = 'cycler(color=[1])'; print('WON')",
    "class T(str): pass\nplt.rc('axes', prop_cycle=T('cycler(color=[1])')); print('WON')",
    "plt.plot([1]); plt.savefig(io.BytesIO(), pil_kwargs={'format': 'pdf'}); print('WON')",
    "plt.imsave('/tmp/x.png', np.eye(2)); print('WON')",
    "print('WON', plt.imread)",
    "print('WON', df.groupby('g')._grouper)",
    "print('WON', df.groupby('g').grouper)",
    "df.query('x.__class__'); print('WON')",
    "df.query('@pd.io'); print('WON')",
    "df.query('@pd.io'); print('WON')",
    "df.query('@pd == 1 or @pd.io'); print('WON')",
    "df.query('`x`.__class__'); print('WON')",
    "df.query('x[0].__class__'); print('WON')",
    "df.query('@__builtins__'); print('WON')",
    "plt.rcParams['backend'] = 'module://os'; print('WON')",
    "df.query('x.abs() > 1'); print('WON')",
    "df.eval('y = x.values.base'); print('WON')",
    "df.query('x > 1', global_dict={}); print('WON')",
    "print('WON', pd.io, pd.compat)",
    "print('WON', plt.np, plt.sys)",
    "plt.savefig('/tmp/x.png'); print('WON')",
    "plt.savefig(io.BytesIO(), backend='module://os'); print('WON')",
    "plt.savefig(io.BytesIO(), format='pgf'); print('WON')",
    "plt.title('x', usetex=True); plt.savefig(io.BytesIO()); print('WON')",
    "print('WON', plt.figure().canvas.manager)",
    "plt.style.use('/etc/passwd'); print('WON')",
    "print('WON', plt.rcParams['backend'])",
    "class F(pd.DataFrame): pass\nprint('WON')",
    "class F(np.generic): pass\nprint('WON')",
    "print('WON', np.random.default_rng().bit_generator.ctypes)",
    "print('WON', np.random.default_rng().bit_generator.cffi)",
    "print('WON', np.random.PCG64(1).capsule)",
    "np.random.Generator(df); print('WON')",
    "np.random.set_state(('MT19937', np.zeros(624), 10**6)); print('WON')",
    "np.random.set_state(('MT19937', np.zeros(624), -1)); print('WON')",
    ("np.random.set_state({'bit_generator': 'MT19937', 'state': {'key': np.zeros(624), 'pos': 700}}); print('WON')"),
    "np.random.RandomState().set_state(('MT19937', np.zeros(624), 700)); print('WON')",
    "arr.view('O'); print('WON')",
    "arr.view('U2'); print('WON')",
    "arr.view([('a', 'O')]); print('WON')",
    "arr.view(type=np.ndarray); print('WON')",
    "np.array([None, df]).view('i8'); print('WON')",
    "np.r_['df']; print('WON')",
    "class T(str): pass\nnp.c_[T('df')]; print('WON')",
    (
        "class N:\n    def __gt__(self, o): return False\n    def __lt__(self, o): return False\n    def __rsub__(self, o): return -10**6\n"
        "    def __sub__(self, o): return -10**6\n    def __index__(self): return 2\n    def __add__(self, o): return 10**6\n"
        "v = np.lib.stride_tricks.sliding_window_view(arr, N())\nif v.shape != (3, 2): print('WON')"
    ),
    "print('WON', np.testing.rundocs)",
    "print('WON', np.testing.measure)",
    "print('WON', np.rec)",
    "print('WON', np.ma.array([1], mask=[0]).ids)",
    "print('WON', np.sum.__wrapped__)",
    "print('WON', np.sum.__globals__)",
    "np.seterr(call=print); print('WON', np.seterrcall)",
    "print('WON', pd.DataFrame.__init__)",
    "print('WON', df.__class__)",
    "pd.core.computation.eval.eval('1'); print('WON')",
    "print('WON', pd.DateOffset.rollback)",
    "print('WON', getattr(pd.DateOffset, '_attributes', 1))",
    "np.array([df], copy_function=print); print('WON')",
    "np.set_printoptions(formatter={'all': print}); print('WON')",
    "plt.title('x', fontproperties={'fname': '/etc/passwd'}); plt.savefig(io.BytesIO(), format='svg'); print('WON')",
]
#: What is no attack is refused as Python refuses it: with an exception that the cell can catch, and its reason.
REFUSED = {
    "np.random.set_state(3)": "TypeError: set_state takes what get_state() gave.",
    "np.random.set_state(('PCG64', np.zeros(624), 1))": "ValueError: set_state takes a state of MT19937.",
    "df.query(df)": "TypeError: DataFrame.query takes plain text.",
    "df.zz = 1": "attribute-store: cannot set 'zz' on DataFrame; use x[...] = ...",
    "plt.rcParams.update([1])": "TypeError: settings are a dict, not a list",
    "plt.setp(plt.plot([1]))": "TypeError: setp takes the properties as keywords here.",
    "df.to_csv(io.StringIO(), encoding=3)": "TypeError: DataFrame.to_csv takes encoding as text, not int",
    "pd.set_option('display.width', 80, silent=True)": "package-option: pandas.set_option takes no keywords here",
    "pd.Timestamp('2024-01-01', tz='Nowhere/Land')": "ZoneInfoNotFoundError: 'No time zone found with key Nowhere/Land'",
    "np.array([1]).sum(axis=5)": "AxisError: axis 5 is out of bounds for array of dimension 1",
}
#: Modules that a policy gives -> a cell, its value, what is not there, and a cell that is refused in each.
SETS = {
    ("numpy",): (
        "import numpy as np\nnp.arange(4).mean()", 1.5, ("pandas", "matplotlib"),
        "import numpy as np\nnp.arange(4).ctypes", "'ctypes' of ndarray is closed",
    ),
    ("numpy", "pandas"): (
        "import pandas as pd\npd.DataFrame({'x': [1, 2]}).query('x > 1').x.sum()", 2, ("matplotlib",),
        "import pandas as pd\npd.DataFrame({'x': [1, 2]}).query('x.values.base')", "query and eval read no attributes",
    ),
    ("matplotlib",): (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('x.png')\nfiles['x.png'][1:4]", b"PNG", ("pandas",),
        "import matplotlib.pyplot as plt\nplt.title('x', usetex=True)", "there is no LaTeX here",
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", WORKS)
def test_ordinary_work_gives_what_it_gives_in_python(session: Any, text: str) -> None:
    result = session.execute(f"{HEAD}\nprint({text})", lambda _call: None)
    assert result.stdout.strip() == WORKS[text], result.stderr


@pytest.mark.parametrize("cell", CLOSED)
def test_what_leads_out_of_a_package_is_closed(session: Any, cell: str) -> None:
    result = session.execute(HEAD + "print('ready')\n" + cell, lambda _call: None)
    # A cell that is refused before it runs prints nothing.
    assert "ready" in result.stdout or "refused before it ran" in result.stderr
    assert "WON" not in result.stdout
    assert "kernel killed" not in result.stderr


@pytest.mark.parametrize("cell", REFUSED)
def test_what_a_package_would_misread_is_refused_with_its_reason(session: Any, cell: str) -> None:
    result = session.execute(HEAD + cell, lambda _call: None)
    assert result.stderr.splitlines()[-1].startswith(REFUSED[cell])



def test_no_session_draws_the_numbers_of_another_and_a_replayed_one_draws_its_own_again() -> None:
    data = Policy.load("data")
    policy = data.model_copy(update={"isolation": data.isolation.model_copy(update={"checkpoints": False})})
    drawn = []
    for _ in range(2):
        with Sandbox(policy) as sandbox:
            drawing = "x = [*np.random.rand(2), *pd.Series(range(999)).sample(2)]\nprint(x)"
            drawn.append(sandbox.run(f"import numpy as np, pandas as pd\n{drawing}").check().stdout)
            assert sandbox.run("while True: pass", timeout=1).error is not None
            assert sandbox.run("print(x)").check().stdout == drawn[-1]
    assert drawn[0] != drawn[1]

def test_an_exception_of_a_package_has_its_public_names_alone(session: Any) -> None:
    cell = "try:\n    arr.sum(axis=5)\nexcept ValueError as error:\n    print(error.axis, error.ndim, type(error).__name__)\n    error._msg"
    result = session.execute(HEAD + cell, lambda _call: None)
    assert result.stdout == "5 1 AxisError\n"
    assert "'_msg' is private" in result.stderr


def test_a_column_is_set_by_its_name(session: Any) -> None:
    assert session.execute(HEAD + "df.x = [5, 6]\nprint(df['x'].tolist())", lambda _call: None).stdout == "[5, 6]\n"


def test_a_with_block_of_the_cell_s_own_is_open_to_it(session: Any) -> None:
    """One of a package would have the package's function in it."""
    cell = "import contextlib\n@contextlib.contextmanager\ndef made():\n    yield 1\nblock = made()\nprint(block.func.__name__, block.args)"
    assert session.execute(HEAD + cell, lambda _call: None).stdout == "made ()\n"


@pytest.mark.parametrize("given", SETS)
def test_a_session_has_the_packages_of_its_policy_and_no_others(given: tuple[str, ...]) -> None:
    """A set has a zygote of its own, in which what it has is closed as in that of all three."""
    cell, value, missing, closed, reason = SETS[given]
    with Sandbox(policy=Policy.load({"extends": "data", "language": {"modules": list(given)}})) as sandbox:
        result = sandbox.run(cell).check()
        assert (result.value, type(result.value)) == (value, type(value))
        for name in missing:
            assert sandbox.run(f"import {name}").error is not None
        assert reason in sandbox.run(closed).stderr


def test_a_figure_is_drawn(session: Any) -> None:
    cell = "b = io.BytesIO()\nfig, ax = plt.subplots()\nax.plot(arr, label='$x^2$')\nax.legend()\nfig.savefig(b)\n"
    result = session.execute(HEAD + cell + "print(b.getvalue()[:4])", lambda _call: None)
    assert "PNG" in result.stdout, result.stderr


def test_loaded_modules_name_no_path_of_the_host() -> None:
    script = """
import sys
from rlm_secure.guest import packages
sys.modules["pyarrow"] = None  # pandas would start a thread of it; a zygote does not find it
names = ["numpy", "pandas", "matplotlib"]
packages.load(names, [each for each in sys.path if each.endswith("site-packages")])
packages.close(names)
found = [vars(each).get("__file__") for name, each in sys.modules.items() if name.partition(".")[0] in names]
print(len(found) > 500, [each for each in found if each and "/" in each])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "True []"


def test_a_process_with_a_second_thread_is_no_zygote() -> None:
    script = """
import sys, threading
from rlm_secure.guest import packages
stays = threading.Event()
threading.Thread(target=stays.wait, daemon=True).start()
try:
    packages.load(["numpy"], [each for each in sys.path if each.endswith("site-packages")])
except RuntimeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.startswith("a package started a thread")
