"""The facades of numpy, pandas and matplotlib: functions, classes and constants by name, as for standard modules.

Guards: which functions and classes of a package a cell can name
"""

from __future__ import annotations

import importlib
import itertools
import sys
from types import ModuleType
from typing import Any

from ..language import classes, facades, stored
from ..language.facades.facade import Facade, facade
from . import aggregations, arrays, figures, files, rules, screened, tables

_READERS = "read_csv read_table read_fwf read_json"
_OPTIONS = "set_option get_option reset_option describe_option option_context"
#: What packages have beside what is listed in tables.py, with the reason that a cell is told.
_NUMPY_LEFT_OUT = {
    "fromfile memmap": "they map files by path; use np.load(name) or np.loadtxt(name)",
    "frombuffer from_dlpack": "they share memory; use np.array(list) or np.array(memory.tolist())",
    "core ctypeslib": "internal",
    "rec matrix": "they make arrays over memory; use a structured dtype, or a DataFrame",
    "nditer nested_iters": "they give writable views of arrays; use np.ndenumerate or array.flat",
    "frompyfunc": "it makes arrays of objects; use np.vectorize",
}
_PANDAS_LEFT_OUT = {
    "read_parquet read_feather read_orc": "they need pyarrow, which starts threads; use read_csv or read_json",
    "read_excel ExcelFile ExcelWriter": "they need openpyxl, which is not here; use read_csv",
    "read_pickle to_pickle": "a pickle runs code; use to_csv and read_csv",
    "read_sql read_sql_query read_sql_table read_clipboard read_html read_xml read_hdf read_sas read_spss read_stata": (
        "they need a program, a service or a package that is not here; use read_csv or read_json"
    ),
    "eval": "it reads variables by name; use df.eval(text), or plain Python",
    "io core compat util": "internal",
}
_PYPLOT_LEFT_OUT = {
    "imread": "it decodes images in C; give pixels to np.load or np.loadtxt, as .npy, .csv or .txt",
    "ginput waitforbuttonpress connect disconnect subplot_tool": "there is no window",
    "get_current_fig_manager new_figure_manager": "there is no window; use plt.figure(figsize=...)",
    "xkcd": "its fonts are not here",
}
_MATPLOTLIB_LEFT_OUT = {
    "animation": "there is no program that makes films; save each frame with savefig",
    "image": "use plt.imsave and plt.imshow",
    "widgets backends backend_bases": "there is no window",
    "font_manager": "only the fonts that come with matplotlib are here; use fontfamily=",
    "cbook texmanager units rcsetup": "internal",
}


def add(names: tuple[str, ...] | list[str]) -> None:
    """Create the facades of the packages `names`, with which there is always numpy."""
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
    # type(x) is this class then. A class of another metaclass stays closed.
    classes.offer({value for each in present.split() if type(value := getattr(module, each)) is type})
    return made


def _added(name: str, own: dict[str, Any]) -> Facade:
    made = facade(name, own=own)
    facades.add(name, made)
    return made


def _numpy() -> None:
    np: Any = importlib.import_module("numpy")
    facades.SEEDS.append(np.random.seed)  # else all sessions of a zygote would draw the same from np.random.rand()
    windows = {"sliding_window_view": arrays.sliding_window_view}
    inner = {
        "linalg": _made("numpy.linalg", tables.LINALG, {}),
        "fft": _made("numpy.fft", tables.FFT, {}),
        "random": _made("numpy.random", tables.RANDOM, {"set_state": arrays.set_state}),
        "char": _made("numpy.char", tables.CHAR, {}),
        "strings": _made("numpy.strings", tables.CHAR, {}),
        "ma": _made("numpy.ma", tables.MASKED, {"masked": np.ma.masked, "nomask": np.ma.nomask}),
        "testing": _made("numpy.testing", tables.TESTING, {}),
        "polynomial": _polynomial(),
        "lib": _added("numpy.lib", {"stride_tricks": _added("numpy.lib.stride_tricks", windows)}),
    }
    own: dict[str, Any] = {
        "loadtxt": screened.reader(np.loadtxt, "numpy.loadtxt"),
        "genfromtxt": screened.reader(np.genfromtxt, "numpy.genfromtxt"),
        "load": screened.reader(_loaded, "numpy.load"),
        "save": _saver(lambda file, arr: np.save(file, arr, allow_pickle=False), "numpy.save", ".npy"),
        "savez": _saver(_of_numbers(np.savez), "numpy.savez", ".npz"),
        "savez_compressed": _saver(_of_numbers(np.savez_compressed), "numpy.savez_compressed", ".npz"),
        "savetxt": screened.writer(np.savetxt, "numpy.savetxt", "fname", "bytes"),
        # The class makes arrays over any buffer with any strides; this one is for isinstance() and annotations alone.
        "ndarray": stand_in(np.ndarray),
        "errstate": _without(np.errstate, "call"),
        "seterr": np.seterr,
        "set_printoptions": _without(np.set_printoptions, "formatter", "override_repr", before=7),
        "printoptions": arrays.context(_without(np.printoptions, "formatter", "override_repr", before=7)),
        "get_printoptions": np.get_printoptions,
        "__version__": np.__version__,
        **{name: arrays.Subscripted(name) for name in ("r_", "c_", "s_", "index_exp", "mgrid", "ogrid")},
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


def _polynomial() -> Facade:
    inner = {
        name: _made(f"numpy.polynomial.{name}", tables.POLYNOMIALS.replace("poly", short), {})
        for name, short in (("polynomial", "poly"), ("chebyshev", "cheb"), ("legendre", "leg"), ("hermite", "herm"))
    }
    return _made("numpy.polynomial", "Polynomial Chebyshev Legendre Hermite", inner)


class Arrays(dict[str, Any]):
    """What np.load gives for an archive: its arrays by name. `files` lists the names, as numpy's own object does."""

    def __enter__(self) -> Arrays:
        return self

    def __exit__(self, *_values: Any) -> None:
        pass

    def close(self) -> None:
        """Nothing: there is no open file."""

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


def stand_in(kind: type) -> type:
    """The class that `type(x)` gives for objects of `kind`: isinstance() works, making one does not."""
    return classes._stand_in(kind)


def _without(function: Any, *names: str, before: int | None = None) -> Any:
    """The function without the options `names`; the first of them is the next behind `before` values by position."""

    def call(*values: Any, **options: Any) -> Any:
        if any(name in options for name in names) or (before is not None and len(values) > before):
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
    own["option_context"] = arrays.context(own["option_context"])
    own["options"] = Options()
    own["__version__"] = pd.__version__
    own["api"] = _made("pandas.api", "", {"types": _made("pandas.api.types", tables.TYPES, {})})
    own["testing"] = _made(
        "pandas.testing", "assert_frame_equal assert_index_equal assert_series_equal assert_extension_array_equal", {}
    )
    if "pandas.plotting._matplotlib" in sys.modules:
        listed = (
            "andrews_curves autocorrelation_plot bootstrap_plot lag_plot parallel_coordinates radviz scatter_matrix"
        )
        own["plotting"] = _made("pandas.plotting", listed, {"register_matplotlib_converters": lambda: None})
    own["offsets"] = _made("pandas.offsets", tables.OFFSETS, {}, "pandas.tseries.offsets")
    facades.add("pandas.tseries.offsets", own["offsets"])
    own["tseries"] = _added("pandas.tseries", {"offsets": own["offsets"]})
    own["errors"] = _made(
        "pandas.errors", "EmptyDataError ParserError MergeError SettingWithCopyWarning OutOfBoundsDatetime", {}
    )
    _made("pandas", tables.PANDAS, own, left_out=_PANDAS_LEFT_OUT)


class Options:
    """pandas.options, whose `display` has the options on how things are shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<pandas.options: display>"

    @property
    def display(self) -> Display:
        """The options that begin with display."""
        return Display()


class Display:
    """pandas.options.display: each attribute is an option."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<pandas.options.display>"

    def __getattr__(self, name: str) -> Any:
        return importlib.import_module("pandas").get_option(f"display.{self._known(name)}")

    def __setattr__(self, name: str, value: Any) -> None:
        importlib.import_module("pandas").set_option(f"display.{self._known(name)}", value)

    @staticmethod
    def _known(name: str) -> str:
        if not name.isidentifier() or name not in dir(importlib.import_module("pandas").options.display):
            raise AttributeError(f"there is no option 'display.{name}'")
        return name


for _each in (Options, Display):
    rules.adopt(_each)


def _matplotlib() -> None:
    mpl: Any = importlib.import_module("matplotlib")
    plt: Any = importlib.import_module("matplotlib.pyplot")

    def show(*_values: Any, **_options: Any) -> None:
        """Store each figure as figure-1.png and so on, where the session has files, and close it."""
        held = stored.functions
        for number in plt.get_fignums():
            if held:
                taken = set(held["names"]())
                name = next(name for at in itertools.count(1) if (name := f"figure-{at}.png") not in taken)
                screened.drawing(plt.figure(number).savefig, "pyplot.show")(name)
            plt.close(number)

    settings = figures.settings()
    cm = mpl.cm
    maps = " ".join(name for name in vars(cm) if isinstance(getattr(cm, name), mpl.colors.Colormap))
    inner: dict[str, Any] = {
        **settings,
        "cm": _made("matplotlib.cm", f"{maps} ScalarMappable", {}),
        "style": _added("matplotlib.style", figures.styles()),
        "use": _nothing,
        "__version__": mpl.__version__,
    }
    own: dict[str, Any] = {
        **settings,
        "cm": inner["cm"],
        "style": inner["style"],
        "savefig": screened.drawing(plt.savefig, "pyplot.savefig"),
        "imsave": screened.drawing(plt.imsave, "pyplot.imsave"),
        "setp": figures.setp,
        "show": show,
        **dict.fromkeys(("ion", "ioff", "pause", "switch_backend"), _nothing),
        "isinteractive": lambda: False,
    }
    inner["pyplot"] = _made("matplotlib.pyplot", tables.PYPLOT, own, left_out=_PYPLOT_LEFT_OUT)
    for name, listed in tables.MATPLOTLIB.items():
        inner[name] = _made(f"matplotlib.{name}", listed, {})
    _made("matplotlib", "", inner, left_out=_MATPLOTLIB_LEFT_OUT)
    _made("cycler", "cycler Cycler", {})
    mplot3d = _made("mpl_toolkits.mplot3d", "Axes3D", {})
    grids = _made("mpl_toolkits.axes_grid1", "make_axes_locatable", {})
    _made("mpl_toolkits", "", {"mplot3d": mplot3d, "axes_grid1": grids})
    facades.PARENTS.update(cycler="matplotlib", mpl_toolkits="matplotlib")


def _nothing(*_values: Any, **_options: Any) -> None:
    """What a notebook asks of its window; there is none here."""
