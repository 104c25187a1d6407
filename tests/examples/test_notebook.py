"""The notebook runs in a real kernel, and its cells give what is kept in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.examples.programs import EXAMPLES, environment

NOTEBOOK = EXAMPLES / "notebook.ipynb"


def outputs(notebook: Any) -> list[tuple[str, str]]:
    """What each cell of code printed, and the value of its last line, as text."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            printed = "".join(each.text for each in cell.outputs if each.output_type == "stream")
            values = "".join(each.data["text/plain"] for each in cell.outputs if each.output_type == "execute_result")
            found.append((printed, values))
    return found


def test_its_cells_give_what_is_kept_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    kept = outputs(nbformat.read(NOTEBOOK, as_version=4))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=100, resources={"metadata": {"path": str(EXAMPLES)}}).execute(env=environment())
    assert outputs(notebook) == kept
    assert len([each for each in kept if any(each)]) >= 5


def test_it_is_kept_small_and_without_what_differs_from_run_to_run() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    assert NOTEBOOK.stat().st_size < 20_000
    assert [cell.metadata for cell in notebook.cells if cell.metadata] == []
