"""An audit can fail: environments without walls lose nearly every attack. Ours loses none. Broken ones are no wins.

Each audit here builds an arena of its own, as one from the command line does.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest

from rlm_secure.audit import COULD_NOT_RUN, FOUND, Report, audit
from rlm_secure.audit.formats import html, junit, text
from rlm_secure.audit.formats import json as json_format
from rlm_secure.guarantees import Guarantee
from rlm_secure.testing import corpus
from rlm_secure.testing.arena import Arena
from rlm_secure.testing.arena.paths import Share
from rlm_secure.testing.corpus import Layer, Need, Win
from rlm_secure.testing.judge import Reach, Result

pytestmark = [pytest.mark.attack, pytest.mark.timeout(300)]

_EACH = 2
#: Where the tests are, so that the arena sees them wherever this checkout lies.
ROOT = __file__.rpartition("/tests/")[0]
ARENA = Arena((Share(ROOT),))


def some(layer: Layer) -> frozenset[str]:
    """Two attacks of a layer on each guarantee, none that only waits."""
    taken: dict[Guarantee, list[str]] = {}
    for attack in corpus.load():
        wanted = attack.layer in (layer, Layer.BOTH) and not attack.excuse and not attack.needs - {Need.CTYPES}
        if wanted and attack.wins not in (Win.OUTLASTS, Win.REMAINS):
            taken.setdefault(attack.guarantee, []).append(attack.name)
    return frozenset(name for names in taken.values() for name in names[:_EACH])


KERNEL, LANGUAGE = some(Layer.KERNEL), some(Layer.LANGUAGE)


def audited(name: str, only: frozenset[str] = KERNEL | LANGUAGE) -> Report:
    return audit(environments=[name], only=only, arena=ARENA)


def test_plain_exec_loses_nearly_everything_and_says_so_once_for_each_guarantee() -> None:
    report = audited("examples.adapters.plain:open_session")
    (environment,) = report.environments
    assert report.code == FOUND
    assert environment.arena is not None and ROOT in environment.arena
    judged = len(environment.probes) - environment.count_not_checked()
    assert judged >= 20
    assert environment.count(Result.WON) >= 0.8 * judged
    assert environment.count_reach(Reach.REACHED) and environment.count_reach(Reach.SURFACE)
    found = Counter((each.rule, each.severity.value, each.weakens) for each in report.findings)
    assert {(rule, severity) for rule, severity, _ in found} == {
        ("attack-won", "critical"),
        ("attack-surface", "medium"),
    }
    assert set(found.values()) == {1}
    for rendered in (text.render(report).plain, json_format.render(report), html.render(report), junit.render(report)):
        assert "reached" in rendered.lower() or "failure" in rendered


def test_ours_loses_nothing() -> None:
    report = audited("local")
    (environment,) = report.environments
    assert [(each.rule, each.message) for each in report.findings] == []
    assert environment.count(Result.WON) == environment.count(Result.ERRORED) == 0
    assert {probe.screened for probe in environment.probes} == {True, False}
    assert environment.count(Result.STOPPED) > len(environment.probes) / 2
    value = json.loads(json_format.render(report))["environments"][0]
    assert len(value["probes"]) == len(environment.probes)
    assert "attacks held" in text.summary(report)


#: Two attacks that a session without state, files or network can hold.
TWO = frozenset({"builtin-open", "builtin-eval"})


@pytest.mark.parametrize("kind", ["Raises", "NeverStarts", "no_adapter"])
def test_an_adapter_that_fails_is_never_a_win_and_never_clean(kind: str) -> None:
    report = audited(f"tests.audit.weak:{kind}", TWO)
    (environment,) = report.environments
    assert environment.count(Result.WON) == 0
    assert report.code == COULD_NOT_RUN
    assert not environment.judged
    assert report.not_checked_count
    if kind == "NeverStarts":
        assert "there is no such sandbox" in environment.trouble
        assert "NeverStarts" in environment.trace or "__init__" in environment.trace


def test_an_adapter_that_fails_once_costs_one_attempt() -> None:
    report = audited("tests.audit.weak:RaisesOnce", TWO)
    (environment,) = report.environments
    assert Counter(probe.result for probe in environment.probes) == {Result.ERRORED: 1, Result.CONTAINED: 1}
    assert "only this once" in "".join(probe.evidence for probe in environment.probes)


def test_a_host_that_dies_has_lost_and_the_battery_goes_on() -> None:
    report = audited("tests.audit.weak:Dies", TWO)
    (environment,) = report.environments
    assert [probe.result for probe in environment.probes] == [Result.ERRORED] * 2  # before the attack itself began
    assert "SIGABRT" in environment.probes[0].evidence
    assert report.code == COULD_NOT_RUN


@pytest.mark.parametrize("name", ["nowhere-at-all", "no.such.module:open"])
def test_an_unknown_environment_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="environment"):
        audited(name)


def test_a_name_that_the_module_has_not_is_said() -> None:
    report = audited("tests.audit.weak:nothing", TWO)
    assert report.code == COULD_NOT_RUN
    assert "nothing" in report.environments[0].trouble


@pytest.mark.parametrize("name", ["docker", "e2b"])
def test_what_an_environment_needs_from_outside_is_said(name: str) -> None:
    with pytest.raises(ValueError, match="out of an arena's reach; add --share"):
        audit(environments=[name], only=TWO)
