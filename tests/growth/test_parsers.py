"""No parser of the package takes more than 2.3 times as long for twice the bytes, whoever wrote them.

Modules that decode are found in the source; what of each is tried, and with what, is in trials.py.
"""

from __future__ import annotations

import resource
import time
from typing import Any

import pytest

from tests.fuzz import readers
from tests.growth import cost
from tests.growth.decoders import decoders
from tests.growth.patterns import sources
from tests.growth.trials import READERS, TRIALS, Trial, others

#: Bytes up to which no parser takes long, and seconds that it may take for so many.
_FIRST, _CHEAP = 4096, 0.002
#: Seconds for the largest input of a trial, and for each byte of it: 64 KiB are read in half a second at most.
_SECONDS, _SECONDS_A_BYTE = 0.2, 5e-6


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Any:
    yield
    readers.forget_listener()


def _offence(trial: Trial, name: str) -> str:
    """What is wrong with the cost of one input, if anything."""
    make = trial.inputs[name]
    try:
        for size in (64, 512, _FIRST):
            took = cost.seconds(trial, make(min(size, trial.most)))
            if took > cost.TELLING * 4:
                break
        if size == _FIRST and took <= _CHEAP and trial.most > 8 * _FIRST:
            # Where the largest input takes no longer than its share, there is nothing to see.
            allowed = min(_SECONDS + _SECONDS_A_BYTE * trial.most, max(took, 2e-5) * trial.most / _FIRST * 2)
            whole = cost.seconds(trial, make(trial.most))
            if whole <= allowed:
                return ""
        growth = cost.growth(make, trial, begin=min(size, trial.most), most=trial.most)
    except cost.Endless as endless:
        return str(endless)
    return str(growth) if growth.wrong else ""


@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")  # of a pattern that is tried
@pytest.mark.parametrize("name", TRIALS)
def test_no_parser_takes_longer_than_its_input_grows(name: str) -> None:
    for each in TRIALS[name].inputs:
        offence = _offence(TRIALS[name], each)
        assert not offence, f"{name}, on {each!r}: {offence}"


def test_every_module_that_decodes_has_a_line() -> None:
    for path, source in sources():
        found = decoders(source)
        reader = READERS.get(path)
        known = [] if reader is None else [call.strip(",") for call in reader.calls.replace(" in a loop", "+").split()]
        for call, line in found.items():
            assert call.replace(" in a loop", "+") in known, (
                f"rlm_secure/{path}:{line} decodes with {call}: add that to READERS in tests/growth/trials.py, with a trial"
                " that gives it hostile input of any size, or with the reason why foreign bytes never get there"
            )
        assert reader is None or {call.replace(" in a loop", "+") for call in found} == set(known), (
            f"rlm_secure/{path} decodes with {sorted(found)} alone: take the rest out of READERS in tests/growth/trials.py"
        )


def test_every_line_names_trials_or_a_reason() -> None:
    paths = {path for path, _ in sources()}
    for path, reader in READERS.items():
        assert path in paths, f"{path} is gone: take it out of READERS"
        assert set(reader.trials) <= set(TRIALS), path
        assert reader.trials or len(reader.reason) > 20, path
    used = {name for reader in READERS.values() for name in reader.trials} | set(others())
    assert used == set(TRIALS)


def test_a_module_that_begins_to_decode_is_found() -> None:
    source = """
import json, struct, base64 as b
from json import loads as read
from rlm_secure.guest import wire
from rlm_secure.untrusted_json import loads
def use(data, peer, records):
    json.loads(data); read(data); b.b64decode(data); wire.loads(data); loads(data); records.unpack_from(data)
    peer.recv(5)
    while data.find(b"x") >= 0:
        pass
    for each in data.splitlines():
        each.find("y")
    data.find("z")
"""
    assert set(decoders(source)) == {
        "json.loads", "loads", "base64.b64decode", "wire.loads", "unpack_from", "recv", "find in a loop",
    }  # fmt: skip


def _scans_again(data: bytes) -> None:
    buffer = b""
    for at in range(0, len(data), 16):
        buffer += data[at : at + 16]
        buffer.count(b"\n\n")


def _looks_back(text: str) -> None:
    for at, each in enumerate(text):
        if each == "(" and text.find("))", at) < 0:
            continue


@pytest.mark.parametrize(
    ("parser", "inputs"),
    [
        (_scans_again, {"zeros": lambda size: bytes(size)}),
        (_looks_back, {"open": lambda size: "(" * size}),
        (
            lambda numbers: [each for each in numbers if numbers.count(each) > 1],
            {"numbers": lambda size: [*range(size // 8)]},
        ),
    ],
)
def test_a_planted_parser_is_found(parser: Any, inputs: Any, hasty: None) -> None:
    trial = Trial(parser, inputs, most=1 << 18)
    assert [each for each in inputs if _offence(trial, each)]


def test_what_is_planted_is_still_wrong_when_it_was_measured_as_often_as_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "TELLING", cost.TELLING / 5)  # the last measurement is of 25 times that, 27 times
    assert cost.growth(lambda size: "(" * size, _looks_back).wrong


def test_a_linear_parser_is_not() -> None:
    for parser in (lambda data: data.split(b"\n"), lambda data: sorted(data), lambda data: [*data]):
        assert not _offence(Trial(parser, {"lines": lambda size: b"x\n" * size}), "lines")


def test_a_machine_that_is_busy_for_a_moment_is_measured_again() -> None:
    """Its time counts once, and the least of several is taken."""
    calls = []

    def sometimes(data: bytes) -> None:
        calls.append(len(data))
        until = time.process_time() + len(data) * 1e-7 + (0.05 if len(calls) % 4 == 1 else 0.0)
        while time.process_time() < until:
            pass

    growth = cost.growth(bytes, sometimes, begin=32 * 1024)
    assert not growth.wrong, str(growth)


def test_what_new_pages_cost_is_not_taken_for_growth() -> None:
    """The allocator keeps the smaller copies of its own accord, and gives the larger ones back to the kernel."""

    def faults(size: int) -> int:
        given = b"x" * size
        given.translate(None)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(8):
            given.translate(None)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    large = 40 << 20  # beyond the largest limit that the allocator sets itself
    assert faults(large) > 80  # 20 a copy where pages are huge
    with cost.kept_memory():
        assert faults(large) < 80
    assert faults(large) > 80


def test_an_input_with_a_limit_is_measured_at_its_own_size() -> None:
    sizes = []

    def grows(size: int, work: int) -> None:
        sizes.append(size)
        sum(range(work))

    assert cost.growth(int, lambda size: grows(size, size * size // 50), begin=500, fixed=True).wrong
    assert not cost.growth(int, lambda size: grows(size, size * 10), begin=500, fixed=True).wrong
    assert set(sizes) == {500, 1000}
