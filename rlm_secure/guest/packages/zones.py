"""Time zones for pandas, which reads the data of a zone when it first needs it: served from memory."""

from __future__ import annotations

import importlib
import io
import zoneinfo
from typing import Any

from ..language.facades import times


def keep() -> None:
    """Have zoneinfo read from the zones that were read before the files are gone. Idempotent.

    Call it before pandas is imported, which takes the function itself.
    """
    times.read_zones()
    common: Any = importlib.import_module("zoneinfo._common")

    def load_tzdata(key: str) -> io.BytesIO:
        data = times.zone_data(key)
        if data is None:
            raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}")
        return io.BytesIO(data)

    common.load_tzdata = load_tzdata
