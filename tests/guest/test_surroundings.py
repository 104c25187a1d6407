"""What a supervisor tries of the network around it, in both families of addresses."""

from __future__ import annotations

import socket

import pytest

from rlm_secure.guest.supervisor import surroundings


@pytest.mark.parametrize(("family", "host", "name"), [(socket.AF_INET, "127.0.0.1", "127.0.0.1"), (socket.AF_INET6, "::1", "[::1]")])
def test_a_cluster_s_api_that_can_be_reached_is_found_out(
    monkeypatch: pytest.MonkeyPatch, family: socket.AddressFamily, host: str, name: str
) -> None:
    monkeypatch.setattr(surroundings, "_ADDRESSES", ())
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        try:
            listener.bind((host, 0))
        except OSError:
            pytest.skip("this machine has no such addresses")
        listener.listen()
        port = listener.getsockname()[1]
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(port))
        assert surroundings.describe((), ())["connect"] == {f"{name}:{port}": "won"}
    assert surroundings.describe((), ())["connect"] == {f"{name}:{port}": "ECONNREFUSED"}


def test_both_families_are_tried() -> None:
    assert {":" in host for host, _ in surroundings._ADDRESSES} == {True, False}
