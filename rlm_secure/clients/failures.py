"""Converts any exception of an SDK into a ProviderError whose text contains nothing from the provider.

A provider's message can contain parts of a key, an organisation id or an internal address, and an error may reach
a sandbox or a log. So none of it is kept: an HTTP status and a code from a closed list are enough.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rlm_secure.errors import ProviderError

#: What each HTTP status means for the user.
_STATUS = {
    400: "the request was not accepted; check the model's name and the sampling arguments",
    401: "the API key was not accepted; check it",
    402: "the account has no credit left",
    403: "the API key may not use this model",
    404: "no such model or address; check model_name and base_url",
    408: "the provider waited too long; try again",
    409: "the provider was busy with the same request; try again",
    413: "the prompt is too long for the provider",
    422: "the request was not accepted; check the sampling arguments",
    429: "the rate limit or the quota is reached; wait, or raise it with the provider",
}
#: The whole message of Python's TypeError about an unexpected argument.
_ARGUMENT = re.compile(
    r"\A[\w.]{1,120}\(\) got an unexpected keyword argument '\w{1,80}'(?:\. Did you mean '\w{1,80}'\?)?\Z"
)
#: Parts of the names of exceptions that libraries raise when a connection cannot be made, or breaks.
_BROKEN = ("Connect", "Network", "ReadError", "WriteError", "CloseError", "RemoteProtocolError")
_RETRYABLE = frozenset({408, 409, 425, 429})

#: Most settings that are searched for secrets; it also ends the search of a mapping that contains itself.
_MOST_SETTINGS = 1000

#: Error codes of providers that may be repeated verbatim.
_CODES = frozenset(
    {
        "context_length_exceeded",
        "rate_limit_exceeded",
        "insufficient_quota",
        "model_not_found",
        "invalid_api_key",
        "content_filter",
        "content_policy_violation",
        "unsupported_parameter",
        "unsupported_value",
        "server_error",
        "overloaded_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "invalid_request_error",
        "rate_limit_error",
        "api_error",
        "RESOURCE_EXHAUSTED",
        "INVALID_ARGUMENT",
        "PERMISSION_DENIED",
        "UNAUTHENTICATED",
        "UNAVAILABLE",
        "NOT_FOUND",
        "DEADLINE_EXCEEDED",
    }
)


def provider_error(vendor: str, error: BaseException, seconds: float) -> ProviderError:
    """`error` as one sentence without any text of the provider's; `seconds` is the call's timeout."""
    name = type(error).__name__
    status = _status(error)
    if status is not None:
        code = _code(error)
        label = f"HTTP {status}" + (f", {code}" if code else "")
        meaning = _STATUS.get(status) or (
            "the provider failed; try again" if status >= 500 else "the provider did not answer as expected"
        )
        if code == "context_length_exceeded":
            meaning = "the prompt is longer than the model's context"
        return ProviderError(
            f"the {vendor} call failed ({label}): {meaning}", retryable=status in _RETRYABLE or status >= 500
        )
    if isinstance(error, asyncio.TimeoutError | TimeoutError) or "Timeout" in name:
        said = f"the {vendor} call had no reply within {seconds:g} seconds"
        return ProviderError(said, retryable=True, cut_off=True)
    if isinstance(error, ImportError):
        return ProviderError(f"the {vendor} SDK cannot be imported ({error.name or name}); install it again")
    if isinstance(error, TypeError) and _ARGUMENT.search(str(error)):
        # Python's own message about the caller's arguments; nothing was sent.
        return ProviderError(f"the {vendor} call was not made: {error}; check sampling_args")
    if isinstance(error, UnicodeEncodeError) or name == "LocalProtocolError":
        return ProviderError(
            f"the {vendor} call was not made: the API key or a header holds a character that HTTP cannot carry; copy "
            "the key again"
        )
    if isinstance(error, ConnectionError) or any(word in name for word in _BROKEN):
        return ProviderError(
            f"the {vendor} call could not reach the provider; check base_url and the network", retryable=True
        )
    # A class name comes from the SDK, never from the provider.
    return ProviderError(f"the {vendor} call failed: {name}")


def _status(error: BaseException) -> int | None:
    for attribute in ("status_code", "code", "http_status"):
        value = getattr(error, attribute, None)
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
            return value
    return None


def _code(error: BaseException) -> str | None:
    body: Any = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    found = [getattr(error, "code", None), getattr(error, "type", None), getattr(error, "status", None)]
    if isinstance(inner, dict):
        found += [inner.get("code"), inner.get("type"), inner.get("status")]
    for value in found:
        if isinstance(value, str) and value in _CODES:
            return value
    return None


def set_up_error(package: str, error: Exception, settings: Mapping[str, Any]) -> ProviderError:
    """The error for an SDK object that could not be created from `settings`. Nothing was sent, so its cause is kept.

    Raise it from its `__cause__`, which is None if the SDK's message repeats a setting that may be a secret.
    """
    known = ProviderError(
        f"the {package} SDK could not be set up ({type(error).__name__}); its own words are the cause of this error: "
        "check the keywords in backend_kwargs"
    )
    told = f"{error} {error.args!r}"
    known.__cause__ = None if any(text in told for text in _texts(settings)) else error
    return known


def _texts(settings: Mapping[str, Any]) -> Iterator[str]:
    """The texts in `settings` that may be secrets: of at least 8 characters, or 4 in a mapping such as headers."""
    waiting: list[tuple[Any, int]] = [(value, 8) for value in settings.values()]
    for value, least in waiting:
        if isinstance(value, str | bytes):
            text = value if isinstance(value, str) else value.decode("latin-1")
            if len(text) >= least:
                yield text
        elif isinstance(value, Mapping) and len(waiting) < _MOST_SETTINGS:
            waiting += [(each, 4) for each in value.values()]
