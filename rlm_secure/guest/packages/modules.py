"""The facades of numpy, pandas and matplotlib: functions, classes and constants by name, as for standard modules."""

from __future__ import annotations

import importlib
import itertools
from types import ModuleType
from typing import Any

from ..language import facades, stored
from ..language.facades.facade import Facade, facade
from ..language.names import words
from . import aggregations, files, rules, screened, tables

_READERS = "read_csv read_table read_fwf read_json"
_OPTIONS = "set_option get_option reset_option describe_option option_context"
#: What packages have beside what is listed in tables.py, with the reason that a cell is told.
_NUMPY_LEFT_OUT = {
    "fromfile memmap": "they map files by path; use np.load(name) or np.loadtxt(name)",
    "frombuffer from_dlpack": "they share memory; use np.array(list) or np.array(memory.tolist())",
    "lib core ctypeslib": "internal",
    "frompyfunc": "it makes arrays of objects; use np.vectorize",
}
_PANDAS_LEFT_OUT = {
    "read_parquet read_feather read_orc": "they need pyarrow, which starts threads; use read_csv or read_json",
    "read_excel ExcelFile ExcelWriter": "they need openpyxl, which is not here; use read_csv",
    "read_pickle to_pickle": "a pickle runs code; use to_csv and read_csv",
    "read_sql read_sql_query read_sql_table read_clipboard read_html read_xml read_hdf read_sas read_spss read_stata": (
        "they need a program, a service or a package that is not here; use read_csv or read_json"
    ),
    "io core compat util": "internal",
}


def add(names: tuple[str, ...] | list[str]) -> None:
    """Create the facades of the packages `names`."""
    if "numpy" in names:
        _numpy()
    if "pandas" in names:
        _pandas()
    if "matplotlib" in names:
        _matplotlib()


def _made(
    name: str, listed: str, own: dict[str, Any], place: str = "", left_out: dict[str, str] | None = None
) -> Facade:
    module = importlib.import_module(place or name)
    present = " ".join(
        each
        for each in listed.split()
        if hasattr(module, each) and each not in own and not isinstance(getattr(module, each), ModuleType)
    )
    made = facade(name, module, take=present, own=own, left_out=left_out)
    facades.add(name, made)
    return made


def _numpy() -> None:
    np: Any = importlib.import_module("numpy")
    inner = {
        "linalg": _made("numpy.linalg", tables.LINALG, {}),
        "fft": _made("numpy.fft", tables.FFT, {}),
        "random": _made("numpy.random", tables.RANDOM, {}),
    }
    inner["polynomial"] = _made("numpy.polynomial", "Polynomial Chebyshev Legendre Hermite", {})
    own: dict[str, Any] = {
        "loadtxt": screened.reader(np.loadtxt, "numpy.loadtxt"),
        "genfromtxt": screened.reader(np.genfromtxt, "numpy.genfromtxt"),
        "load": screened.reader(_loaded, "numpy.load"),
        "save": _saver(lambda file, arr: np.save(file, arr, allow_pickle=False), "numpy.save", ".npy"),
        "savez": _saver(_of_numbers(np.savez), "numpy.savez", ".npz"),
        "savez_compressed": _saver(_of_numbers(np.savez_compressed), "numpy.savez_compressed", ".npz"),
        "savetxt": screened.writer(np.savetxt, "numpy.savetxt", "fname", "bytes"),
        # The class makes arrays over any buffer with any strides; this one is for isinstance() and annotations alone.
        "ndarray": facades_stand_in(np.ndarray),
        "errstate": _without(np.errstate, "call"),
        "seterr": np.seterr,
        "set_printoptions": _without(np.set_printoptions, "formatter", "override_repr"),
        "printoptions": _without(np.printoptions, "formatter", "override_repr"),
        "array": _without(np.array, "copy_function"),
        # Memory that is not cleared has addresses of freed objects.
        "empty": np.zeros,
        "empty_like": np.zeros_like,
        **inner,
    }
    _made("numpy", tables.NUMPY, own, left_out=_NUMPY_LEFT_OUT)
    rules.alike(
        {type(np.dtype(code)) for code in "?bBhHiIlLqQefdgFDGSUVOMm"} | {np.dtype},
        "alignment byteorder char hasobject isbuiltin isnative itemsize kind name names ndim num shape str",
    )
    rules.alike(set(np.sctypeDict.values()), tables.NAMES["numpy:float64"])


class Arrays(dict[str, Any]):
    """What np.load gives for an archive: its arrays by name. `files` lists the names, as numpy's own object does."""

    @property
    def files(self) -> list[str]:
        """The names of the arrays."""
        return list(self)


rules.adopt(Arrays)


def _loaded(file: Any) -> Any:
    np: Any = importlib.import_module("numpy")
    found = np.load(file, allow_pickle=False)
    return found if isinstance(found, np.ndarray) else Arrays(found)


def _of_numbers(function: Any) -> Any:
    """savez without pickles, which would run code where they are loaded."""
    np: Any = importlib.import_module("numpy")

    def plain(value: Any) -> Any:
        made = np.asanyarray(value)
        if made.dtype.hasobject:
            raise ValueError("Object arrays cannot be saved here")
        return made

    return lambda file, *values, **named: function(
        file, *map(plain, values), **{name: plain(value) for name, value in named.items() if name != "allow_pickle"}
    )


def _saver(function: Any, who: str, end: str) -> Any:
    """`function`, which adds `end` to the name of a file that has another one, as numpy does."""
    write = screened.writer(function, who, "file", "bytes")

    def save(file: Any, *values: Any, **options: Any) -> None:
        name = files.name_of(file, who)
        write(file if name is None or name.endswith(end) else name + end, *values, **options)

    save.__name__ = save.__qualname__ = who.rpartition(".")[2]
    return save


def facades_stand_in(kind: type) -> type:
    """The class that `type(x)` gives for objects of `kind`: isinstance() works, making one does not."""
    from ..language import classes

    return classes._stand_in(kind)


def _without(function: Any, *names: str) -> Any:
    def call(*values: Any, **options: Any) -> Any:
        if any(name in options for name in names):
            raise TypeError(f"{function.__name__} takes no {' or '.join(names)} here.")
        return function(*values, **options)

    call.__name__ = call.__qualname__ = function.__name__
    return call


def _pandas() -> None:
    pd: Any = importlib.import_module("pandas")
    own: dict[str, Any] = {name: screened.reader(getattr(pd, name), f"pandas.{name}") for name in _READERS.split()}
    own |= {name: screened.display_only(getattr(pd, name), f"pandas.{name}") for name in _OPTIONS.split()}
    own["pivot_table"] = aggregations.aggregating(pd.pivot_table, "pandas.pivot_table", "aggfunc", 4)
    own["crosstab"] = aggregations.aggregating(pd.crosstab, "pandas.crosstab", "aggfunc", 5)
    own["offsets"] = _made("pandas.offsets", tables.OFFSETS, {}, "pandas.tseries.offsets")
    own["errors"] = _made(
        "pandas.errors", "EmptyDataError ParserError MergeError SettingWithCopyWarning OutOfBoundsDatetime", {}
    )
    _made("pandas", tables.PANDAS, own, left_out=_PANDAS_LEFT_OUT)


_SETTINGS = (
    *words(
        "axes. figure. font. grid. hist. image. legend. lines. patch. scatter. boxplot. xtick. ytick. savefig.dpi "
        "savefig.bbox date. contour. errorbar. mathtext. axes3d. text.color"
    ),
)

#: They name functions, of any module, which matplotlib calls.
_NAMING = ("figure.hooks",)


def facades_settings(inner: Any) -> Any:
    """matplotlib's rcParams, for those that say how a figure looks. Others name programs, paths and modules."""

    class RcParams:
        __slots__ = ()

        def __getitem__(self, name: str) -> Any:
            return inner[self._known(name)]

        def __setitem__(self, name: str, value: Any) -> None:
            inner[self._known(name)] = value

        def update(self, *values: Any, **more: Any) -> None:
            """Set several."""
            for name, value in dict(*values, **more).items():
                self[name] = value

        @staticmethod
        def _known(name: Any) -> str:
            if type(name) is not str or not name.startswith(_SETTINGS) or name in _NAMING or name not in inner:
                raise KeyError(f"{name} is no setting that cells may use")
            return name

    rules.adopt(RcParams)
    return RcParams()


def _matplotlib() -> None:
    plt: Any = importlib.import_module("matplotlib.pyplot")
    style: Any = importlib.import_module("matplotlib.style")

    def use(name: Any) -> None:
        for each in name if type(name) is list else [name]:
            if type(each) is not str or (each != "default" and each not in style.library):
                raise ValueError(f"there is no style {each!r}; see plt.style.available")
        style.use(name)

    def show(*_values: Any, **_options: Any) -> None:
        """Store each figure as figure-1.png and so on, where the session has files, and close it."""
        held = stored.functions
        for number in plt.get_fignums():
            if held:
                taken = set(held["names"]())
                name = next(name for at in itertools.count(1) if (name := f"figure-{at}.png") not in taken)
                screened.drawing(plt.figure(number).savefig, "pyplot.show")(name)
            plt.close(number)

    rc = facades_settings(plt.rcParams)
    own: dict[str, Any] = {
        "rcParams": rc,
        "savefig": screened.drawing(plt.savefig, "pyplot.savefig"),
        "show": show,
        "style": facade("matplotlib.style", own={"use": use, "available": tuple(style.available)}),
    }
    rules.adopt(type(own["style"]))
    made = _made("matplotlib.pyplot", tables.PYPLOT, own)
    inner: dict[str, Any] = {"pyplot": made, "use": lambda *_values, **_options: None}
    for name, listed in (
        ("ticker", ("FuncFormatter StrMethodFormatter FormatStrFormatter MaxNLocator MultipleLocator PercentFormatter "
                   "ScalarFormatter NullFormatter AutoMinorLocator LogLocator FixedLocator FixedFormatter")),
        ("dates", ("DateFormatter MonthLocator DayLocator YearLocator HourLocator WeekdayLocator AutoDateLocator "
                  "ConciseDateFormatter AutoDateFormatter date2num num2date MO TU WE TH FR SA SU")),
        ("patches", "Patch Circle Rectangle Polygon Ellipse Wedge"),
        ("lines", "Line2D"),
        ("gridspec", "GridSpec"),
        ("colors", ("Normalize LogNorm ListedColormap LinearSegmentedColormap to_rgb to_rgba to_hex TABLEAU_COLORS "
                   "CSS4_COLORS")),
    ):  # fmt: skip
        inner[name] = _made(f"matplotlib.{name}", listed, {})
    _made("matplotlib", "", inner)
