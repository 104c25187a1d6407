"""Time zones for pandas, which asks zoneinfo by name when it needs one: all are made before the files are gone."""

from __future__ import annotations

import contextlib
import zoneinfo

#: Kept alive, so that zoneinfo finds them in its cache.
_kept: list[zoneinfo.ZoneInfo] = []


def keep() -> None:
    """Make every zone that this machine has. Idempotent."""
    if not _kept:
        for key in zoneinfo.available_timezones():
            with contextlib.suppress(OSError, ValueError):
                _kept.append(zoneinfo.ZoneInfo(key))
