"""A provider's authenticated ingress: HTTP/1.1 over TLS, directly to one host, without a proxy.

The provider's token authenticates to the ingress. Every message is also signed with the session's key, because TLS
ends at the ingress, and whoever runs it could forge messages.

Guards: where a provider's token is sent: to one verified host
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from rlm_secure.broker.transports import TransportLost, left
from rlm_secure.broker.transports.pooled import PooledTransport

_CONNECT_SECONDS = 10.0
_MAX_IDLE = 4


class HttpsTransport(PooledTransport[socket.socket]):
    """Connects to `url` (scheme, host and port; its path must be empty) with the provider's `headers` on every request.

    Plain http is accepted for loopback addresses only. `context` replaces the system's certificates. Headers are
    sent to no other host: no redirect is followed, no proxy is used. Raises ValueError for any other URL.
    """

    name = "https"

    def __init__(
        self, url: str, *, headers: Mapping[str, str] | None = None, context: ssl.SSLContext | None = None
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("https", "http") or not parts.hostname or parts.path not in ("", "/") or parts.query:
            raise ValueError(f"an ingress is https://host[:port], not {url!r}")
        if not parts.netloc.isascii():
            raise ValueError(f"an ingress has a name in ASCII, not {parts.netloc!r}")
        if parts.scheme == "http" and not _loopback(parts.hostname):
            raise ValueError(f"{url!r} is not encrypted; an ingress is https://")
        if parts.username or parts.password:
            raise ValueError("an ingress URL holds no password; give the provider's token as a header")
        for name, value in (headers or {}).items():
            if any(character in name + value for character in "\r\n\0") or not (name + value).isascii():
                raise ValueError(f"the header {name!r} is not one line of ASCII")
        self._host = parts.hostname
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._context = _context(context) if parts.scheme == "https" else None
        self._headers = {"Host": parts.netloc, "User-Agent": "rlm-secure", **(headers or {})}
        self._lock = threading.Lock()
        self._idle: list[socket.socket] = []
        self._closed = False

    def close(self) -> None:
        """Close every connection. Idempotent."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self, deadline: float) -> socket.socket:
        with self._lock:
            if self._closed:
                raise TransportLost("the transport is closed")
            if self._idle:
                return self._idle.pop()
        try:
            connection = _connected(self._host, self._port, min(deadline, time.monotonic() + _CONNECT_SECONDS))
        except (OSError, UnicodeError) as error:  # UnicodeError: a host name that DNS cannot encode
            raise TransportLost(f"{self._host} cannot be reached: {error}") from None
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._context is None:
            return connection
        try:
            connection.settimeout(min(left(deadline), _CONNECT_SECONDS))
            return self._context.wrap_socket(connection, server_hostname=self._host)
        except (OSError, ValueError) as error:
            raise TransportLost(f"{self._host} does not speak TLS as it should: {error}") from None
        finally:
            connection.close()  # after success, the TLS socket owns the descriptor and this does nothing

    def _give_back(self, connection: socket.socket, keep: bool) -> None:
        with self._lock:
            if keep and not self._closed and len(self._idle) < _MAX_IDLE:
                self._idle.append(connection)
            else:
                connection.close()


def _connected(host: str, port: int, deadline: float) -> socket.socket:
    """Connect to one of the host's addresses, each tried for an equal share of the time left.

    Raises OSError, UnicodeError or TransportLost.
    """
    addresses = list(dict.fromkeys(str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)))
    for place, address in enumerate(addresses[:-1]):
        with contextlib.suppress(OSError):
            return socket.create_connection((address, port), left(deadline) / (len(addresses) - place))
    return socket.create_connection((addresses[-1], port), left(deadline))


def _context(given: ssl.SSLContext | None) -> ssl.SSLContext:
    context = given or ssl.create_default_context()
    if context.verify_mode is not ssl.CERT_REQUIRED or not context.check_hostname:
        raise ValueError("a TLS context that does not verify its peer is no protection")
    context.minimum_version = max(context.minimum_version, ssl.TLSVersion.TLSv1_2)
    return context


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
