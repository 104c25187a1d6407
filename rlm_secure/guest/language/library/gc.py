"""gc, of which cells get what changes nothing: the collector runs as the session needs it."""

from __future__ import annotations

__all__ = ["collect", "disable", "enable", "isenabled"]
LEFT_OUT = {
    "get_objects get_referents get_referrers garbage callbacks": "it leads to every object of the process",
    "DEBUG_COLLECTABLE DEBUG_LEAK DEBUG_SAVEALL DEBUG_STATS DEBUG_UNCOLLECTABLE freeze get_count get_debug "
    "get_freeze_count get_stats get_threshold is_finalized is_tracked set_debug set_threshold unfreeze": "it is about "
    "the process and not the cell",
}

_states = {"enabled": True}


def collect(generation: int = 2) -> int:
    return 0


def enable() -> None:
    _states["enabled"] = True


def disable() -> None:
    _states["enabled"] = False


def isenabled() -> bool:
    return _states["enabled"]
