"""The corpus is what the issue asks for, and its loader takes nothing else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import rlm_secure
from rlm_secure.guarantees import Guarantee
from rlm_secure.testing import corpus
from rlm_secure.testing.corpus import Excuse, Harm, Layer, Need, Win
from tests.attacks.conftest import ATTACKS

HEADER = '"""Try it.\n\nguarantee: no-exec\nlayer: kernel\nwins: prints\noutcome: harmless\n{}"""\n\nprint(1)\n'


def test_there_are_enough_attacks_and_enough_raw_ones():
    raw = [attack for attack in ATTACKS if attack.layer is Layer.KERNEL and "call(" in "".join(attack.cells)]
    assert len(ATTACKS) >= 150
    assert len(raw) >= 75


def test_every_guarantee_is_attacked():
    assert {attack.guarantee for attack in ATTACKS} == set(Guarantee)


def test_every_way_to_win_is_used():
    assert {attack.wins for attack in ATTACKS} == set(Win)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_the_file_is_well_formed(attack):
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", attack.name)
    assert attack.summary[0].isupper() and attack.summary.endswith(".") and len(attack.summary) < 110
    assert all(cell.strip() for cell in attack.cells)
    if attack.wins in (Win.PRINTS, Win.REFLECTS):
        assert "WON" in "".join(attack.cells)


def test_an_attack_says_what_it_needs():
    for attack in ATTACKS:
        source = "".join(attack.cells)
        raw = attack.layer is Layer.KERNEL and re.search(r"\b(call\(|libc\b|ctypes\b)", source)
        assert not raw or Need.CTYPES in attack.needs, attack.name


def test_an_attack_on_what_a_host_reports_of_variables_says_so():
    for attack in ATTACKS:
        if attack.name.startswith(("variable", "repr-")):
            assert attack.needs == {Need.VARIABLES}, attack.name


def test_few_controls_are_excused():
    assert sum(attack.excuse is Excuse.MACHINE for attack in ATTACKS) < len(ATTACKS) / 10
    assert sum(attack.excuse is Excuse.ROOT for attack in ATTACKS) < len(ATTACKS) / 8


def test_an_attack_is_read_with_all_its_fields():
    text = HEADER.format("needs: channel, ctypes\nreference: a book\ncontrol: root - only root may do that\n")
    assert corpus.parse("try-it", text) == corpus.Attack(
        name="try-it",
        summary="Try it.",
        guarantee=Guarantee.NO_EXEC,
        layer=Layer.KERNEL,
        wins=Win.PRINTS,
        harm=Harm.HARMLESS,
        needs=frozenset({Need.CHANNEL, Need.CTYPES}),
        cells=("\nprint(1)\n",),
        reference="a book",
        excuse=Excuse.ROOT,
        reason="only root may do that",
    )


def test_a_bomb_replaces_its_name():
    text = HEADER.format("bomb: 'ab' * 3 + '-'\n").replace("print(1)", "x = BOMB")
    assert corpus.parse("bomb", text).cells == ("\nx = ababab-\n",)


def test_cells_are_told_apart():
    text = HEADER.format("").replace("print(1)", "x = 1\n# next cell\nprint(x)")
    assert corpus.parse("two", text).cells == ("\nx = 1\n", "print(x)\n")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("print(1)\n", "must start with a docstring"),
        (HEADER.format("").replace("no-exec", "no-fun"), "'no-fun' is none of"),
        (HEADER.format("").replace("kernel", "cellar"), "'cellar' is none of"),
        (HEADER.format("").replace("wins: prints\n", ""), "the field 'wins' is missing"),
        (HEADER.format("").replace("outcome: harmless\n", ""), "the field 'outcome' is missing"),
        (HEADER.format("").replace("harmless", "boom"), "'boom' is none of"),
        (HEADER.format("needs: magic\n"), "'magic' is none of"),
        (HEADER.format("wins: prints\n"), "once each"),
        (HEADER.format("colour: red\n"), "is not one of the fields"),
        (HEADER.format("control: no idea\n"), "control must be"),
        (HEADER.format("bomb: 'a' * many\n"), "in bomb is not"),
    ],
)
def test_a_malformed_attack_is_named_with_what_is_wrong(text, complaint):
    with pytest.raises(ValueError, match=complaint) as error:
        corpus.parse("broken", text)
    assert "attack broken" in str(error.value)


def test_the_corpus_is_sorted_and_leaves_the_prelude_out():
    names = [attack.name for attack in ATTACKS]
    assert names == sorted(names)
    assert not any(name.startswith("_") for name in names)


GUEST = [ast.parse(path.read_text()) for path in (Path(rlm_secure.__file__).parent / "guest").rglob("*.py")]
DEFINED = {
    node.name for tree in GUEST for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)
}
#: Names that attacks look for beside the guest's own: of the interpreter and its library.
FOREIGN = {"__main__", "_wrap_close"}


def looked_for(source: str) -> Iterator[str]:
    """The names by which an attack finds objects of its worker: `kind.__name__ == "..."`, `hasattr(found, "...")`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "__name__":
            constants = [each for right in node.comparators for each in ast.walk(right)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr":
            constants = node.args[1:]
        else:
            continue
        yield from (each.value for each in constants if isinstance(each, ast.Constant) and isinstance(each.value, str))


def names_gone(attack: corpus.Attack) -> set[str]:
    cells = [cell for cell in attack.cells if "get_objects" in cell]
    return {name for cell in cells for name in looked_for(cell)} - DEFINED - FOREIGN


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_what_an_attack_looks_for_in_its_worker_is_there(attack):
    """A class of the guest that is renamed would leave an attack with nothing to take hold of, and it would "hold"."""
    assert names_gone(attack) == set()


def test_a_name_that_is_gone_is_found():
    lost = 'import gc\nfound = [each for each in gc.get_objects() if type(each).__name__ in ("NoSuchWorker", "Repl")]'
    assert names_gone(corpus.parse("lost", HEADER.format("").replace("print(1)", lost))) == {"NoSuchWorker"}
