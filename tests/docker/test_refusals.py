"""What an engine refuses or does not answer is said in types of ours, and nobody waits for it for ever."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import docker
import pytest

from rlm_secure.broker.transports import TransportLost
from rlm_secure.environments.docker import container
from rlm_secure.environments.docker.hardening import Offered
from rlm_secure.environments.docker.routes import NotThere
from rlm_secure.environments.owner import owner
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.removal import Scratch
from tests.broker.support import policy

NOWHERE = "rlm-secure-nowhere"
HAS = Offered(apparmor=False, profile=None, cgroupns=True)


def test_ids_that_are_mapped_fit_into_sixteen_bits() -> None:
    assert 20_000 < container.users({"SecurityOptions": ["name=rootless"]}).worker < 60_000
    assert 20_000 < container.users({"SecurityOptions": ["name=seccomp", "name=userns"]}).worker < 60_000
    assert container.users({"SecurityOptions": None}).supervisor >= 2_146_000_000


@pytest.mark.parametrize("directory", [None, "/tmp"])
def test_what_is_not_about_the_directory_is_no_reason_to_try_another_way(engine: Any, directory: str | None) -> None:
    with pytest.raises(EnvironmentUnavailable) as raised:
        container.create(engine, policy(), f"{NOWHERE}:1", directory, has=HAS, uid=77_777, memory=1 << 28)
    assert not isinstance(raised.value, NotThere)


def test_a_directory_that_the_engine_does_not_see_is_named(engine: Any, image: str) -> None:
    with pytest.raises(NotThere, match=f"/{NOWHERE}"):
        container.create(engine, policy(), image, f"/{NOWHERE}", has=HAS, uid=77_777, memory=1 << 28)


def test_what_an_engine_does_not_take_is_an_error(engine: Any) -> None:
    with pytest.raises(EnvironmentUnavailable, match="could not take the bundle"):
        container.put(engine, NOWHERE, "name", b"")
    refuses: Any = SimpleNamespace(api=SimpleNamespace(put_archive=lambda *_: False))
    with pytest.raises(EnvironmentUnavailable, match="did not take the bundle; look at its log"):
        container.put(refuses, NOWHERE, "name", b"")


def test_a_container_that_is_not_there_has_no_stream_and_no_state_and_is_removed(engine: Any) -> None:
    with pytest.raises(TransportLost, match="the engine could not start an exec"):
        container.dial(engine, NOWHERE, 77_777)
    assert container.state(engine, NOWHERE) is None
    assert container.remove(engine, NOWHERE)


class Busy:
    """The engine's side of a removal that somebody else has begun, or that it cannot do."""

    def __init__(self, *answers: Exception) -> None:
        self.api, self.answers, self.waited = self, list(answers), 0

    def remove_container(self, *_: object, **__: object) -> None:
        raise self.answers.pop(0)

    def wait(self, *_: object, **__: object) -> None:
        self.waited += 1
        raise TimeoutError


def test_a_removal_that_has_begun_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = Busy(RuntimeError("removal of container x is already in progress"), docker.errors.NotFound("gone"))
    assert container.remove(begun, NOWHERE) and begun.waited == 1
    with Scratch() as directory:
        nobody = docker.DockerClient(base_url=f"unix://{directory}/docker.sock", version="1.43")
        began = time.monotonic()
        assert not container.remove(nobody, NOWHERE)
        assert 3.0 < time.monotonic() - began < 8.0, "an engine may be restarting; one that is gone holds nobody up"
        nobody.close()
    monkeypatch.setattr(container, "_REMOVE_SECONDS", -1.0)
    started = time.monotonic()
    assert not container.remove(Busy(RuntimeError("no engine answers")), NOWHERE)
    assert time.monotonic() - started < 5


def test_only_what_nobody_owns_or_what_has_ended_is_swept() -> None:
    removed: list[str] = []

    def remove(name: str, **_: object) -> None:
        removed.append(name)

    rows = [
        {"Id": "ours", "Labels": {container.OWNER: owner()}, "State": "running"},
        {"Id": "ended", "Labels": {container.OWNER: owner()}, "State": "exited"},
        {"Id": "nobodys", "Labels": {}, "State": "running"},
    ]
    client: Any = SimpleNamespace(api=SimpleNamespace(containers=lambda **_: rows, remove_container=remove))
    swept = container.sweep(client)
    assert swept == len(removed) and "ours" not in removed and "ended" in removed
