"""Places that blocks of the documentation run cells in: a provider behind its emulator, and a Docker engine.

A cloud's own variables (E2B_API_URL, DAYTONA_API_URL, ...) lead its real SDK to the emulator, so that a block is what its
reader would run. Modal's address is an option alone: that page's program reads MODAL_ADDRESS.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from rlm_secure.errors import EnvironmentUnavailable

ENGINE = Path("/run/docker.sock")
BASE = "rlm-secure-test-base"


@contextmanager
def docker(replies: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """The engine, with the image that sessions look for: made here where it is missing, and then removed."""
    from rlm_secure.environments.docker import DEFAULT_IMAGE, build, engine

    client = engine.connect()
    try:
        try:
            engine.image(client, DEFAULT_IMAGE)
            missing = False
        except EnvironmentUnavailable:
            missing = True
            subprocess.run([Path(__file__).parents[1] / "docker" / "base_image.sh", BASE], check=True)
            build(BASE)
        try:
            yield {}
        finally:
            if missing:
                client.images.remove(DEFAULT_IMAGE)
    finally:
        client.close()


@contextmanager
def e2b(replies: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """E2B, with our template, and a key for it."""
    with import_module("tests.emulators.e2b").E2BEmulator() as emulator:
        yield {"E2B_API_KEY": emulator.key, "E2B_API_URL": emulator.url, "E2B_SANDBOX_URL": emulator.url}
        _left_nothing(emulator)


@contextmanager
def daytona(replies: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Daytona, with our snapshot, and a key for it."""
    with import_module("tests.emulators.daytona").DaytonaEmulator() as emulator:
        yield {"DAYTONA_API_KEY": emulator.key, "DAYTONA_API_URL": emulator.api}
        _left_nothing(emulator)


@contextmanager
def prime(replies: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Prime Intellect, with our image, and a key for it."""
    with import_module("tests.emulators.prime").PrimeEmulator() as emulator:
        yield {"PRIME_API_KEY": emulator.key, "PRIME_API_BASE_URL": emulator.url}
        _left_nothing(emulator)


@contextmanager
def modal(replies: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Modal, with our image, and a token for it. MODAL_ADDRESS is for the program: the environment ignores it."""
    with import_module("tests.emulators.modal").ModalEmulator() as emulator:
        token = {"MODAL_TOKEN_ID": emulator.key, "MODAL_TOKEN_SECRET": emulator.secret}
        yield {**token, "MODAL_ADDRESS": emulator.api}
        _left_nothing(emulator)


@contextmanager
def kubernetes(replies: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """A cluster with the objects of sandboxes/kubernetes, and a kubeconfig. Containers of the engine are its pods."""
    with import_module("tests.emulators.kubernetes").KubernetesEmulator() as emulator:
        yield {"KUBECONFIG": emulator.kubeconfig}
        _left_nothing(emulator)


def _left_nothing(emulator: object) -> None:
    """A program that ended left no sandbox, which would cost money elsewhere."""
    live = emulator.live  # type: ignore[attr-defined]
    assert live == [], live


#: What each word needs of this machine, beside Python.
WITH_ENGINE = frozenset({"docker", "kubernetes"})
AS_ROOT = frozenset({"e2b", "daytona", "prime", "modal"})


def can(need: str) -> bool:
    """Whether this machine can have it: an engine, or the right to give a sandbox a network of its own."""
    if os.environ.get("RLM_SECURE_CI") == "1":
        return True
    return not (need in WITH_ENGINE and not ENGINE.exists()) and not (need in AS_ROOT and os.geteuid() != 0)
