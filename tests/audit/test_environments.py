"""An audit can fail: environments without walls lose nearly every attack. Ours loses none."""

from __future__ import annotations

import json

import pytest

from rlm_secure.audit import FOUND, NotChecked, audit, probes
from rlm_secure.audit.formats import json as json_format
from rlm_secure.audit.formats import text
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.guarantees import Guarantee
from rlm_secure.testing.corpus import Attack, Layer, Win, load
from rlm_secure.testing.judge import Result

_EACH = 2


def some(layer: Layer) -> frozenset[str]:
    """Two attacks of a layer on each guarantee, none that only waits."""
    taken: dict[Guarantee, list[str]] = {}
    for attack in load():
        if attack.layer in (layer, Layer.BOTH) and not attack.excuse and attack.wins not in (Win.OUTLASTS, Win.REMAINS):
            taken.setdefault(attack.guarantee, []).append(attack.name)
    return frozenset(name for names in taken.values() for name in names[:_EACH])


KERNEL, LANGUAGE = some(Layer.KERNEL), some(Layer.LANGUAGE)


def chosen(attack: Attack) -> bool:
    return attack.name in KERNEL | LANGUAGE


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["plain", "upstream_like"])
def test_environments_without_walls_lose_nearly_everything(kind: str) -> None:
    report = audit(environments=[f"tests.audit.weak:{kind}"], choose=lambda attack: attack.name in KERNEL)
    (environment,) = report.environments
    assert report.code == FOUND
    assert len(environment.probes) >= 20
    assert environment.count(Result.WON) >= 0.85 * len(environment.probes)
    rules = {each.rule for each in report.findings}
    assert {"attack-won", "wall-missing", "guarantee-missing"} <= rules


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ours_loses_nothing() -> None:
    report = audit(environments=["local"], choose=chosen)
    (environment,) = report.environments
    assert [(each.rule, each.message) for each in report.findings] == []
    assert environment.count(Result.WON) == 0
    assert {probe.screened for probe in environment.probes} == {True, False}
    assert environment.count(Result.STOPPED) > len(environment.probes) / 2
    value = json.loads(json_format.render(report))["environments"][0]
    assert len(value["probes"]) == len(environment.probes)
    assert "attacks held" in text.summary(report)


def nowhere(policy) -> None:
    """An environment that is never there."""
    raise EnvironmentUnavailable("the machine is full; try another one")


def test_an_environment_that_is_not_there_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_PAUSE_SECONDS", 0)
    report = audit(environments=[f"{__name__}:nowhere"], choose=chosen)
    assert report.not_checked == (
        NotChecked(f"environment {__name__}:nowhere", "the machine is full; try another one"),
    )
    assert report.code == 3


@pytest.mark.parametrize("name", ["nowhere-at-all", "no.such.module:open", "tests.audit.weak:nothing"])
def test_an_unknown_environment_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="environment"):
        audit(environments=[name])
