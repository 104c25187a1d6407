"""What numpy, pandas and matplotlib read and write: files of the session by name, file objects, memory; and no path."""

from __future__ import annotations

import datetime
import gzip
import io
import zipfile
from collections.abc import Iterator

import numpy
import pandas
import pytest

from rlm_secure import Policy, Sandbox
from rlm_secure.errors import ValueNotPlain

CSV = "g,x\na,1.5\nb,2.5\na,3.5\n"
HEAD = "import io, numpy as np, pandas as pd, matplotlib.pyplot as plt\nfrom pathlib import Path\n"


@pytest.fixture(scope="module")
def shared() -> Iterator[Sandbox]:
    with Sandbox(policy="data") as made:
        made.run(HEAD).check()
        yield made


@pytest.fixture
def sandbox(shared: Sandbox) -> Sandbox:
    for name in list(shared.files):
        del shared.files[name]
    shared.files["sales.csv"] = CSV
    return shared


@pytest.mark.parametrize(
    "source",
    [
        "'sales.csv'",
        "files.open('sales.csv')",
        "files.open('sales.csv', 'rb')",
        "io.StringIO(files.read_text('sales.csv'))",
        "io.BytesIO(files['sales.csv'])",
        "Path('sales.csv')",
    ],
)
def test_a_table_is_read_from_whatever_has_its_bytes(sandbox: Sandbox, source: str) -> None:
    result = sandbox.run(f"pd.read_csv({source}).groupby('g').x.sum().to_dict()").check()
    assert result.value == {"a": 5.0, "b": 2.5}


def test_an_open_file_is_read_from_where_it_is(sandbox: Sandbox) -> None:
    cell = "with files.open('sales.csv') as f:\n    head = f.readline()\n    rest = pd.read_csv(f, header=None)\nrest.shape"
    assert sandbox.run(cell).check().value == (3, 2)


@pytest.mark.parametrize(
    ("cell", "name", "data"),
    [
        ("df.to_csv('out.csv', index=False)", "out.csv", CSV.encode()),
        ("df.to_csv('out.csv', index=False, encoding='utf-16')", "out.csv", CSV.encode("utf-16")),
        ("df.head(1).to_csv('out.csv', index=False)\ndf.tail(2).to_csv('out.csv', mode='a', header=False, index=False)", "out.csv", CSV.encode()),
        ("with files.open('out.csv', 'w') as f:\n    df.to_csv(f, index=False)", "out.csv", CSV.encode()),
        ("with files.open('out.csv', 'wb') as f:\n    df.to_csv(f, index=False)", "out.csv", CSV.encode()),
        ("df.head(1).to_json('out.json', orient='records')", "out.json", b'[{"g":"a","x":1.5}]'),
        ("df.head(1).to_string('out.txt', index=False)", "out.txt", b"g   x\na 1.5"),
        ("np.savetxt('out.txt', np.array([1.0, 2.0]), fmt='%.1f')", "out.txt", b"1.0\n2.0\n"),
    ],
)  # fmt: skip
def test_what_is_written_is_a_file_of_the_session(sandbox: Sandbox, cell: str, name: str, data: bytes) -> None:
    result = sandbox.run(f"df = pd.read_csv('sales.csv')\n{cell}").check()
    assert result.files == {name: data}
    assert sandbox.files[name] == data


def test_a_file_that_must_be_new_is(sandbox: Sandbox) -> None:
    result = sandbox.run("pd.read_csv('sales.csv').to_csv('sales.csv', mode='x')")
    assert "FileExistsError" in result.stderr
    assert sandbox.files["sales.csv"] == CSV.encode()


@pytest.mark.parametrize("end", ["gz", "bz2", "zip", "xz"])
def test_the_end_of_a_name_says_how_it_is_compressed(sandbox: Sandbox, end: str) -> None:
    cell = f"df = pd.read_csv('sales.csv')\ndf.to_csv('out.csv.{end}', index=False)\npd.read_csv('out.csv.{end}').equals(df)"
    result = sandbox.run(cell).check()
    assert result.value is True
    packed = result.files[f"out.csv.{end}"]
    assert not packed.startswith(b"g,x")
    if end == "zip":
        assert zipfile.is_zipfile(io.BytesIO(packed))
    else:
        compression = {"gz": "gzip"}.get(end, end)
        assert pandas.read_csv(io.BytesIO(packed), compression=compression).shape == (3, 2)


def test_arrays_are_stored_and_loaded_by_name(sandbox: Sandbox) -> None:
    cell = """
np.save("one", np.arange(3))
np.savez("two.npz", a=np.arange(2), b=np.eye(2))
two = np.load("two.npz")
(np.load("one.npy").tolist(), two["b"].tolist(), sorted(two.files))
"""
    result = sandbox.run(cell).check()
    assert result.value == ([0, 1, 2], [[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    assert numpy.load(io.BytesIO(result.files["one.npy"])).tolist() == [0, 1, 2]
    assert numpy.load(io.BytesIO(result.files["two.npz"]))["a"].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("cell", "name", "start"),
    [
        ("fig.savefig('chart.png')", "chart.png", b"\x89PNG"),
        ("plt.savefig('chart.svg')", "chart.svg", b"<?xml"),
        ("fig.savefig('chart')", "chart", b"\x89PNG"),
        ("fig.savefig('chart.jpg', dpi=50)", "chart.jpg", b"\xff\xd8\xff"),
        ("fig.savefig('chart.tif')", "chart.tif", b"II*"),
        ("fig.savefig('chart.webp')", "chart.webp", b"RIFF"),
        ("plt.imsave('pixels.png', np.eye(3))", "pixels.png", b"\x89PNG"),
        ("fig.savefig(fname='chart.bin', format='png')", "chart.bin", b"\x89PNG"),
        ("with files.open('chart.png', 'wb') as f:\n    fig.savefig(f)", "chart.png", b"\x89PNG"),
        ("plt.show()", "figure-1.png", b"\x89PNG"),
    ],
)
def test_a_figure_is_a_file_of_the_session(sandbox: Sandbox, cell: str, name: str, start: bytes) -> None:
    result = sandbox.run(f"plt.close('all')\nfig, ax = plt.subplots()\nax.plot([1, 3, 2])\n{cell}").check()
    assert list(result.files) == [name]
    assert result.files[name].startswith(start)


def test_each_figure_that_is_shown_is_a_file_of_its_own_and_closed(sandbox: Sandbox) -> None:
    cell = "plt.close('all')\nfor n in (1, 2):\n    plt.figure()\n    plt.plot([n, 2])\nplt.show()\nplt.get_fignums()"
    result = sandbox.run(cell).check()
    assert list(result.files) == ["figure-1.png", "figure-2.png"]
    assert result.value == []
    assert list(sandbox.run("plt.plot([1, 2])\nplt.show()").check().files) == ["figure-3.png"]


@pytest.mark.parametrize(
    ("cell", "raised"),
    [
        ("pd.read_csv('no.csv')", "FileNotFoundError"),
        ("pd.read_csv('/etc/passwd')", "ValueError"),
        ("pd.read_csv('../sales.csv')", "ValueError"),
        ("pd.read_csv('http://localhost/x.csv')", "ValueError"),
        ("pd.DataFrame().to_csv('/tmp/x.csv')", "ValueError"),
        ("np.load('file:///etc/passwd')", "ValueError"),
        ("plt.savefig('/tmp/x.png')", "ValueError"),
        ("fig = plt.figure()\nwith files.open('x.txt', 'w') as f:\n    fig.savefig(f)", "TypeError"),
        ("pd.read_csv(3)", "file-path"),
        ("pd.DataFrame().to_csv(3)", "file-path"),
        ("pd.DataFrame({'x': [1]}).to_csv('x.csv', compression={'method': 'gzip', 'filename': '/tmp/x'})", "package-option"),
        ("pd.DataFrame({'x': [1]}).to_csv('x.csv', mode='r+')", "ValueError"),
        ("np.savez('x.npz', np.array([None]))", "ValueError"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_the_session_is_refused(sandbox: Sandbox, cell: str, raised: str) -> None:
    assert raised in sandbox.run(cell).stderr


def test_a_class_of_the_cell_hands_over_its_contents_and_nothing_else(sandbox: Sandbox) -> None:
    cell = """
asked = []
class Source:
    def read(self, *size):
        asked.append(size)
        return "x\\n1\\n"
    def __getattr__(self, name):
        asked.append(name)
        raise AttributeError(name)
first = pd.read_csv(Source()).shape
class Liar:
    def read(self, *size):
        return np.array([1])
pd.read_csv(Liar())
"""
    result = sandbox.run(cell)
    assert "TypeError: read() of the Liar gave ndarray" in result.stderr
    assert sandbox.get("first") == (1, 1)
    assert sandbox.get("asked") == [()]


def test_files_together_are_within_their_limit(sandbox: Sandbox) -> None:
    small = Policy.load({"extends": "data", "limits": {"files": 3, "file_bytes": 1000}})
    with Sandbox(policy=small) as limited:
        result = limited.run(HEAD + "pd.DataFrame({'x': range(1000)}).to_csv('x.csv')")
        assert "limits.file_bytes" in result.stderr
        assert dict(limited.files) == {"x.csv": b""} or not dict(limited.files)


def test_without_files_there_is_memory_alone() -> None:
    bare = Policy.load({"extends": "data", "limits": {"files": 0}})
    with Sandbox(policy=bare) as without:
        assert "this session has no files" in without.run(HEAD + "pd.read_csv('sales.csv')").stderr
        cell = HEAD + "b = io.BytesIO()\nplt.plot([1, 2])\nplt.savefig(b)\nplt.show()\nb.getvalue()[:4]"
        assert without.run(cell).check().value == b"\x89PNG"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("np.float64(1.5)", 1.5),
        ("np.int8(-3)", -3),
        ("np.uint64(2**63)", 2**63),
        ("np.bool_(True)", True),
        ("np.str_('x')", "x"),
        ("np.complex128(1 + 2j)", 1 + 2j),
        ("float('nan') if False else np.float32(0.5)", 0.5),
        ("pd.Timestamp('2024-05-06 07:08:09')", datetime.datetime.fromisoformat("2024-05-06T07:08:09")),
        ("pd.Timedelta(hours=3)", datetime.timedelta(hours=3)),
        ("pd.NaT", None),
        ("{'mean': np.mean([1, 2]), 'n': [np.int64(3)]}", {"mean": 1.5, "n": [3]}),
        ("pd.DataFrame({'x': [1, 2]}).to_dict('records')", [{"x": 1}, {"x": 2}]),
        ("list(np.arange(3))", [0, 1, 2]),
    ],
)
def test_single_values_leave_as_what_they_are_in_python(sandbox: Sandbox, text: str, value: object) -> None:
    result = sandbox.run(f"kept = {text}\nkept").check()
    assert (result.value, type(result.value)) == (value, type(value))
    assert result.values["kept"] == value


#: A time and a duration that Python has none of.
FAR, LONG = "pd.Timestamp(np.datetime64('12345-01-01', 's'))", "pd.Timedelta(np.timedelta64(2**60, 's'))"


@pytest.mark.parametrize("text", ["np.arange(3)", "pd.Series([1])", "pd.DataFrame({'x': [1]})", "pd.Timestamp(1)", "np.longdouble(1)", FAR, LONG])
def test_what_python_has_no_equal_of_is_no_value_but_has_its_text(sandbox: Sandbox, text: str) -> None:
    result = sandbox.run(text).check()
    with pytest.raises(ValueNotPlain):
        _ = result.value
    shown = eval(text, {"np": numpy, "pd": pandas})
    assert result.text == repr(shown)


def test_answers_and_tools_take_single_values(sandbox: Sandbox) -> None:
    given = []
    with Sandbox(policy="data", tools={"tell": given.append}) as tooled:
        result = tooled.run(HEAD + "tell({'n': np.int64(2), 'x': np.float64(0.5)})\nfinal_answer(np.mean([1, 2, 3]))")
    assert given == [{"n": 2, "x": 0.5}]
    assert result.final_value == 2.0
    assert result.final_answer == "2.0"


def test_the_text_of_an_answer_has_the_numbers_of_python(sandbox: Sandbox) -> None:
    result = sandbox.run("final_answer({'n': np.int64(3), 'of': (np.float64(0.5), None)})").check()
    assert result.final_answer == "{'n': 3, 'of': (0.5, None)}"
    assert sandbox.run("final_answer(pd.Series([1.5]))").final_answer == "0    1.5\ndtype: float64"


def test_a_compression_that_is_told_is_not_that_of_the_name(sandbox: Sandbox) -> None:
    sandbox.run(
        "frame = pd.DataFrame({'x': [1]})\n"
        "frame.to_csv('a.gz', compression=None, index=False)\nframe.to_csv('b.csv', compression='gzip', index=False)"
    ).check()
    assert sandbox.files["a.gz"] == b"x\n1\n"
    assert gzip.decompress(sandbox.files["b.csv"]) == b"x\n1\n"
