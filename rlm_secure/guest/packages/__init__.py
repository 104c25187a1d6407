"""Third-party packages for cells (numpy, pandas, matplotlib), imported before the zygote loses its files.

Guards: that what leads out of a package is closed before the first cell
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import warnings
from collections.abc import Sequence
from typing import Any

from . import finder, fonts, mended, rules, warm, zones
from .contents import frames
from .scalars import plain

__all__ = ["close", "frames", "load", "plain"]

#: What they import inside functions.
_LATE = {
    "numpy": "numpy.fft numpy.linalg numpy.random numpy.polynomial numpy.char numpy.strings numpy.rec numpy.ma",
    "pandas": (
        "pandas.plotting pandas.core.methods.to_dict pandas.core.methods.describe pandas.core.methods.selectn "
        "pandas.core.reshape.reshape pandas.core.reshape.encoding pandas.core.reshape.melt pandas.core.reshape.pivot "
        "pandas.core.computation.eval pandas.core.computation.ops pandas.core.computation.engines "
        "pandas.core.indexes.frozen pandas.io.formats.csvs pandas.io.formats.html pandas.io.formats.info "
        "pandas.io.formats.string pandas.io.formats.css pandas.io.json._table_schema pandas.io.parsers.readers "
        "pandas.core.window.numba_ pandas._libs.window.aggregations pandas.tseries.frequencies pandas.tseries.holiday "
        "dateutil.tz dateutil.parser dateutil.rrule importlib.metadata"
    ),
    "matplotlib": (
        "matplotlib.pyplot matplotlib.backends.backend_agg matplotlib.backends.backend_svg matplotlib.animation "
        "matplotlib.mathtext matplotlib.projections.polar mpl_toolkits.mplot3d mpl_toolkits.axes_grid1 "
        "matplotlib.dates matplotlib.ticker matplotlib.cm matplotlib.colors matplotlib.patches matplotlib.lines "
        "matplotlib.gridspec matplotlib.style matplotlib.style.core matplotlib.patheffects matplotlib.offsetbox "
        "contourpy matplotlib._type1font "
        "PIL.PngImagePlugin PIL.JpegImagePlugin PIL.GifImagePlugin PIL.BmpImagePlugin PIL.PpmImagePlugin "
        "PIL.TiffImagePlugin PIL.WebPImagePlugin matplotlib.tri matplotlib._tri matplotlib._qhull "
        "xml.etree.ElementTree email.message"
    ),
}
_BOTH = "pandas.plotting._matplotlib pandas.plotting._matplotlib.boxplot pandas.plotting._matplotlib.timeseries"


#: One thread each: only a single-threaded process may fork sessions, and these may start none. matplotlib draws into
#: memory, and looks for no fonts, settings or caches of the host.
_ENVIRONMENT = {
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"),
    "MPLBACKEND": "agg",
    "MPLCONFIGDIR": "/proc/self/nothing",
    "MPL_IGNORE_SYSTEM_FONTS": "1",
}


def load(names: Sequence[str], paths: Sequence[str]) -> None:
    """Import `names` from the folders `paths`, with all that they import late. Raises ImportError, RuntimeError."""
    finder.check(names, paths)
    rules.before()
    mended.copies()
    os.environ.update(_ENVIRONMENT)  # read by the imports; cleared before the first session
    real = tempfile.mkdtemp
    # matplotlib makes a folder for its caches, and would leave it behind: the zygote ends without exit handlers.
    tempfile.mkdtemp = lambda *_values, **_options: "/proc/self/nonexistent"  # type: ignore[assignment]
    try:
        with finder.found(names, paths), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zones.keep()
            for name in names:
                for each in (name, *_LATE[name].split()):
                    importlib.import_module(each)
            if {"pandas", "matplotlib"} <= set(names):
                for each in _BOTH.split():
                    importlib.import_module(each)
            if "pandas" in names:
                importlib.import_module("pandas").set_option("mode.max_threads", 1)
            if "matplotlib" in names:
                fonts.keep()
            warm.warm_up(names)
    finally:
        tempfile.mkdtemp = real
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("a package started a thread; sessions can only be forked from a single-threaded process")


def close(names: Sequence[str]) -> None:
    """Create the facades of the loaded packages, and close what leads out of them. Call it before any cell."""
    from ..language import attributes as guards
    from ..language import formatting
    from ..language.facades import functions
    from ..language.transformer import CellTransformer
    from . import bounds, hooks, modules
    from .attributes import PackageAttributes

    rules.after()
    hooks.rename()
    hooks.clear()
    bounds.close(names)
    modules.add(list(names))
    if "pandas" in names:
        expr = importlib.import_module("pandas.core.computation.expr")

        def refused(self: object, node: object, **_options: object) -> None:
            raise NotImplementedError("query and eval read no attributes and call no functions here")

        expr.BaseExprVisitor.visit_Attribute = expr.BaseExprVisitor.visit_Call = refused
        expr.BaseExprVisitor.visit_Subscript = refused
    if {"pandas", "matplotlib"} <= set(names):
        drawn = importlib.import_module("pandas.plotting._matplotlib")
        # It imports the module that a keyword names.
        importlib.import_module("pandas.plotting._core")._get_plot_backend = (  # type: ignore[attr-defined]
            lambda _backend=None: drawn
        )
    if "matplotlib" in names:
        text = importlib.import_module("matplotlib.text")

        def set_usetex(self: Any, usetex: object) -> None:
            if usetex:
                raise NotImplementedError("there is no LaTeX here; text between $ signs is drawn without it")
            self._usetex = False
            self.stale = True

        text.Text.set_usetex = set_usetex
        mended.formats()
        hulls: Any = importlib.import_module("matplotlib._qhull")
        triangles = hulls.delaunay
        # It opens /dev/null for its messages unless they are asked for; there is no such file.
        hulls.delaunay = lambda x, y, _verbose: triangles(x, y, 1)
    _forget_paths(names)
    guards.use(PackageAttributes)
    functions.read = PackageAttributes({}).read
    formatting.walks_nothing = CellTransformer.asks_always = True


def _forget_paths(names: Sequence[str]) -> None:
    """Take the host's paths from the modules: they have a place in messages of import errors."""
    found = {part for name in names for part in finder.NEEDS[name]}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in found and "__file__" in vars(module):
            module.__file__ = f"<{name}>"
