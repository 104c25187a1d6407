"""The looks at a page see each fault that they are for, and none in a page without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import browser

GOOD = (
    "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    "<title>Page</title><link rel=icon href='data:,'><!--rule--></head><body><header><h1>Page</h1></header><main><p>Text"
    " <a href='#end'>down</a></p><ul><li>one<li>two</ul><table><tr><th>a</th><td>b</td></tr></table><!--main--></main>"
    "<footer id=end>End</footer></body></html>"
)
FAULTS = {
    "logged": "<script>console.log('here')</script>",
    "foreign": "<img alt='' src='../elsewhere.svg'>",
    "violations": "<p style='color: #bbb; background: #ccc'>pale</p>",
    "overflow": "<details><summary>More</summary><div style='width: 2000px'>wide</div></details>",
}


@pytest.mark.slow
def test_every_fault_is_seen(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "good.html").write_text(GOOD)
    for fault, text in FAULTS.items():
        (folder / f"{fault}.html").write_text(GOOD.replace("<!--main-->", text))
    names = [path.name for path in sorted(folder.iterdir())]
    found = browser.faults(f"{folder.as_uri()}/", names, shots=tmp_path)
    seen = {(look["page"].removesuffix(".html"), look["name"]): look for look in found}
    assert set(seen) == {(fault, name) for fault in FAULTS for name in ("phone", "phone-dark", "desk")}
    for (fault, _), look in seen.items():
        wrong = {key for key in FAULTS if (look[key] > 0 if key == "overflow" else look[key])}
        assert wrong == {fault}, look
    assert len(list(tmp_path.glob("*.png"))) == browser.EACH * len(names)


def test_a_page_of_which_little_was_looked_at_is_a_fault() -> None:
    look = {"logged": [], "foreign": [], "violations": [], "overflow": 0}
    assert [browser.wrong({**look, "passes": passes}) for passes in (10, 11)] == [True, False]


@pytest.mark.slow
def test_a_page_that_forbids_scripts_is_looked_at_without_that_rule(tmp_path: Path) -> None:
    rule = """<meta http-equiv=Content-Security-Policy content="default-src 'none'; img-src data:">"""
    (tmp_path / "closed.html").write_text(GOOD.replace("<!--rule-->", rule))
    assert browser.faults(f"{tmp_path.as_uri()}/", ["closed.html"], scripts=False) == []
