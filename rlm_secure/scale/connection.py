"""The program's connection to a Ray cluster, or to a local Ray that is started for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from ipaddress import ip_address
from typing import Any

from rlm_secure.errors import EnvironmentUnavailable, MissingExtra


def connected() -> Any:
    """Ray, connected to the program's cluster, or to a local one that is started on the loopback address.

    Raises MissingExtra, and EnvironmentUnavailable where Ray would listen on another address.
    """
    try:
        ray = import_module("ray")
    except ImportError as error:
        raise MissingExtra("engine='ray'", "ray") from error
    if ray.is_initialized():
        return ray
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with on_loopback():
        # `local` also where RAY_ADDRESS names a cluster: which one to trust is the program's decision.
        try:
            ray.init(address="local", include_dashboard=False, log_to_driver=False)
        except Exception as error:  # of no class of its own
            raise EnvironmentUnavailable(f"Ray did not start here: {type(error).__name__}: {error}") from error
    for each in ray.nodes():
        if not ip_address(each["NodeManagerAddress"]).is_loopback:
            ray.shutdown()
            raise EnvironmentUnavailable(
                "this version of Ray listens on an address of the network, and not on the loopback alone; start Ray as "
                "you trust it, with ray.init(), before the batch"
            )
    return ray


@contextmanager
def on_loopback() -> Iterator[None]:
    """Ray takes the machine's address, and then listens on every one; what it does on other systems is on loopback.

    It reads the variable when it is imported, and its processes when they start.
    """
    constants: Any = import_module("ray._private.ray_constants")
    name = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
    before, variable = getattr(constants, "ENABLE_RAY_CLUSTER", None), os.environ.get(name)
    constants.ENABLE_RAY_CLUSTER, os.environ[name] = False, "0"
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before
        os.environ.pop(name)
        if variable is not None:
            os.environ[name] = variable
