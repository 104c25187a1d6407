"""Options of environments under upstream's names: how they map to ours, and what to use instead of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

_SECONDS: Final = ("ttl_seconds", int)
_OWN_NAME: Final = "a sandbox's name is its own, so that no two runs share one; leave it out"
_IPYTHON: Final = (
    "there is no environment 'ipython', whose cells run in the host's process or in a kernel without walls; take "
    "'local', which keeps variables from cell to cell as well. Of its options, cell_timeout is the policy's "
    "limits.cell_seconds, and the others have nothing to set here"
)


def _image(image: Any) -> str:
    if not isinstance(image, str):
        raise TypeError(f"an image is named by a string, not by a {type(image).__name__} of the provider's SDK")
    return image


def _minutes(minutes: float) -> int:
    return int(60 * minutes)


#: environment -> upstream's name -> our name, and the conversion of upstream's value to ours.
_RENAMED: Final[Mapping[str, Mapping[str, tuple[str, Callable[[Any], Any]]]]] = {
    "modal": {"app_name": ("app", str), "timeout": _SECONDS, "image": ("image", _image)},
    "daytona": {
        "timeout": _SECONDS,
        "cpu": ("cpus", int),
        "memory": ("memory_gib", int),
        "disk": ("disk_gib", int),
        "image": ("image", _image),
    },
    "prime": {"docker_image": ("image", _image), "timeout_minutes": ("ttl_seconds", _minutes)},
    "e2b": {"timeout": _SECONDS},
}

#: environment -> upstream's name -> why it is refused, and what to use instead.
_REFUSED: Final[Mapping[str, Mapping[str, str]]] = {
    "daytona": {
        "name": _OWN_NAME,
        "auto_stop_interval": "every sandbox ends after ttl_seconds, or when its process does; set that instead",
    },
    "prime": {
        "name": _OWN_NAME,
        "network_access": "the sandbox has no network; give cells what they need as custom_tools",
    },
}


def own_options(environment: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """`options` under our names.

    Raises ValueError for upstream's environment `ipython`, which does not exist here, and TypeError for an option that
    is refused, with what to use instead, and for one that is given under both names.
    """
    if environment == "ipython":
        raise ValueError(_IPYTHON)
    renamed, refused = _RENAMED.get(environment, {}), _REFUSED.get(environment, {})
    own: dict[str, Any] = {}
    for name, value in options.items():
        if name in refused:
            raise TypeError(f"environment {environment!r} has no option {name!r}: {refused[name]}")
        ours, made = renamed.get(name, (name, None))
        if ours in own:
            raise TypeError(f"environment {environment!r} is given {ours!r} twice: {name!r} is upstream's name for it")
        own[ours] = value if made is None or value is None else made(value)
    return own
