"""The site as a reader's browser shows it: built without a warning, it loads nothing from elsewhere, and all can read it."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests import browser
from tests.docs.blocks import ROOT
from tests.docs.test_readme import nav

#: One page of each kind: text and programs, tables, a page that is made, pictures. Of the rules and the reference, axe
#: takes two minutes of processor time.
SHOWN = ("", "start/five-minutes/", "policies/keys/", "trust/measured/", "rlm/models/")
EVERY = tuple(page.removesuffix(".md").removesuffix("index").rstrip("/") + "/" for page in nav())


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder, and says nothing of it."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built with every warning as an error."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", "docs/mkdocs.yml", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=250, env=environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(
    "pages", [*((page,) for page in SHOWN), pytest.param(EVERY, marks=pytest.mark.exhaustive)], ids=[*(page or "home" for page in SHOWN), "all"]
)
@pytest.mark.timeout(1_800)
def test_pages_work_in_a_browser(address: str, pages: tuple[str, ...]) -> None:
    shots = os.environ.get("SCREENSHOTS")  # a folder for pictures, to look at
    names = [page.removeprefix("/") for page in pages]
    browser.check(address, names, shots=Path(shots) if shots else None, timeout=1_700)


def test_the_search_index_and_every_page_are_there(site: Path) -> None:
    assert all((site / page.lstrip("/") / "index.html").is_file() for page in EVERY)
    assert "limits.cell_seconds" in (site / "search/search_index.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("wrong", "example"),
    [
        (r"<th[^>]*>\s*</th>", '<th style="text-align: right;"></th>'),  # a column without a name
        (r"<blockquote>\s*<blockquote>", "<blockquote>\n<blockquote>"),  # a prompt of Python, >>>, as prose
    ],
)
def test_no_page_has_what_should_be_something_else(site: Path, wrong: str, example: str) -> None:
    """On every page: for a push the browser looks at one of each kind alone."""
    assert re.search(wrong, example)
    assert [page for page in EVERY if re.search(wrong, (site / page.lstrip("/") / "index.html").read_text("utf-8"))] == []
