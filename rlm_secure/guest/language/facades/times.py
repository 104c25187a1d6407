"""Dates and clocks: datetime, calendar, time, zoneinfo."""

from __future__ import annotations

import calendar
import contextlib
import datetime
import io
import os
import time
import zoneinfo
from typing import Any, NoReturn

from ..registry import is_instance, title
from .data import functions, is_final
from .facade import facade

# C types. strptime, strftime and f"{date:%Y}" import `_strptime` and `time` from C, by the `__import__` of the caller's
# builtins. late.py provides one for C code alone.
DATETIME = facade(
    "datetime",
    datetime,
    take="MAXYEAR MINYEAR UTC date datetime time timedelta timezone tzinfo",
    left_out={"datetime_CAPI": "the C interface of the module", "sys": "a module"},
)

CALENDAR = facade(
    "calendar",
    calendar,
    take="Calendar FRIDAY IllegalMonthError IllegalWeekdayError MONDAY SATURDAY SUNDAY THURSDAY TUESDAY TextCalendar "
    "WEDNESDAY day_abbr day_name firstweekday month_abbr month_name",
    own=functions(
        calendar,
        "calendar isleap leapdays month monthcalendar monthrange prcal prmonth setfirstweekday timegm weekday "
        "weekheader",
    ),
    newer="APRIL AUGUST DECEMBER Day FEBRUARY JANUARY JULY JUNE MARCH MAY Month NOVEMBER OCTOBER SEPTEMBER",
    left_out={
        "HTMLCalendar": "nothing in a cell shows HTML; use calendar.TextCalendar",
        "LocaleHTMLCalendar LocaleTextCalendar": "they change the process's locale",
        "datetime locale sys": "a module",
    },
)

# ---- time ------------------------------------------------------------------------------------------------------

#: Longest single sleep, in seconds. The cell's wall-clock time goes on, and nothing else happens in the session.
SLEEP_SECONDS = 1.0


def sleep(seconds: float, /) -> None:
    """time.sleep for at most SLEEP_SECONDS. Raises ValueError for more."""
    if type(seconds) not in (int, float, bool):
        raise TypeError(f"time.sleep takes seconds as a plain number, not {type(seconds).__name__}.")
    if seconds > SLEEP_SECONDS:
        raise ValueError(
            f"time.sleep waits at most {SLEEP_SECONDS:g} second per call here, since nothing runs meanwhile; "
            "leave the wait out."
        )
    time.sleep(seconds)


_CLOCKS = "a process or system clock; use time.monotonic or time.process_time"

TIME = facade(
    "time",
    time,
    take="altzone asctime ctime daylight get_clock_info gmtime localtime mktime monotonic monotonic_ns perf_counter "
    "perf_counter_ns process_time process_time_ns strftime strptime struct_time time time_ns timezone tzname",
    own={"sleep": sleep},
    left_out={
        "CLOCK_BOOTTIME CLOCK_MONOTONIC CLOCK_MONOTONIC_RAW CLOCK_PROCESS_CPUTIME_ID CLOCK_REALTIME CLOCK_TAI "
        "CLOCK_THREAD_CPUTIME_ID CLOCK_HIGHRES CLOCK_PROF CLOCK_UPTIME CLOCK_UPTIME_RAW clock_getres clock_gettime "
        "clock_gettime_ns clock_settime clock_settime_ns pthread_getcpuclockid thread_time thread_time_ns": _CLOCKS,
        "tzset": "it reads the environment and files; a session's local time is UTC",
    },
)


def use_utc() -> None:
    """Make local time UTC, for this process. Without TZ the C library opens /etc/localtime at every conversion."""
    os.putenv("TZ", "UTC")
    time.tzset()
    time.localtime()


# ---- zoneinfo --------------------------------------------------------------------------------------------------

_BYTES_PER_ZONE = 64 * 1024
_FIRST_BYTES = 8 * 1024  # nearly every file whole, in one call
_MAGIC = b"TZif"
_data: dict[str, bytes] = {}


def read_zones() -> None:
    """Read every zone that this machine has, once: after sealing no file can be opened. About 600 files, 1 MB."""
    if not _data:
        for root in zoneinfo.TZPATH:
            with contextlib.suppress(OSError):
                _read_folder(root, "")
        if not _data:
            _read_package()


def zone_data(key: str) -> bytes | None:
    """What the file of the zone `key` has; None for an unknown one."""
    return _data.get(str(key))


def _read_folder(folder: str, prefix: str) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            # Skip what cannot be read, as broken links, and pipes that wait for a writer.
            try:
                if not entry.is_dir(follow_symlinks=False):
                    _read_file(entry.path, prefix + name)
                elif name not in ("posix", "right"):  # copies of the same zones
                    _read_folder(entry.path, f"{prefix}{name}/")
            except OSError:
                continue


def _read_file(path: str, key: str) -> None:
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        data = os.read(file, _FIRST_BYTES)
        if not data.startswith(_MAGIC):
            return
        if len(data) == _FIRST_BYTES:
            with open(file, "rb", closefd=False) as rest:
                data += rest.read(_BYTES_PER_ZONE - _FIRST_BYTES)
    finally:
        os.close(file)
    _add(key, data)


def _read_package() -> None:
    """Read the zones of the tzdata package, if the system has none."""
    from importlib import resources  # imported here: it needs a third of a megabyte, which every session would inherit

    try:
        index = resources.files("tzdata").joinpath("zones").read_text().split()
    except (ModuleNotFoundError, OSError):
        return  # there is no data: ZoneInfo then raises an error with the zone's name
    for key in index:
        _add(key, resources.files("tzdata.zoneinfo").joinpath(*key.split("/")).read_bytes())


def _add(key: str, data: bytes) -> None:
    if data.startswith(_MAGIC) and key not in ("localtime", "posixrules", "Factory"):
        _data.setdefault(key, data)


_day = tuple(datetime.date.__dict__[name].__get__ for name in ("year", "month", "day"))
_clock = tuple(datetime.datetime.__dict__[name].__get__ for name in ("hour", "minute", "second", "microsecond"))
_fold = datetime.datetime.__dict__["fold"].__get__
_tzinfo = datetime.datetime.__dict__["tzinfo"].__get__


def _plain(dt: Any) -> datetime.datetime | None:
    """`dt` as an exact datetime, or None. C reads the fold of any object, and calls a derived class for the rest."""
    if dt is None or type(dt) is datetime.datetime:
        return dt
    if not is_instance(dt, datetime.datetime):
        raise TypeError(f"a time zone is asked about a datetime, not about {title(type(dt))}.")
    return _rebuilt(dt, None)


def _rebuilt(dt: Any, zone: datetime.tzinfo | None) -> datetime.datetime:
    """A datetime with the fields of `dt` in `zone`. Not by `replace`, which a cell's class may define."""
    day = datetime.date(*(part(dt) for part in _day))
    clock = datetime.time(*(part(dt) for part in _clock), fold=_fold(dt))
    return datetime.datetime.combine(day, clock, zone)


@is_final
class ZoneInfo(datetime.tzinfo):
    """zoneinfo.ZoneInfo over the zones read before sealing. One object per key; raises ZoneInfoNotFoundError."""

    __slots__ = ("_key", "_zone")
    _key: str
    _zone: zoneinfo.ZoneInfo

    def __new__(cls, key: str) -> ZoneInfo:
        if type(key) is not str:
            raise TypeError(f"ZoneInfo takes the name of a zone as plain str, not {type(key).__name__}.")
        if (made := _made.get(key)) is None:
            if key not in _data:
                raise zoneinfo.ZoneInfoNotFoundError(
                    f"No time zone found with key {key[:80]}; zoneinfo.available_timezones() lists those that are here."
                )
            made = super().__new__(cls)
            object.__setattr__(made, "_key", key)
            object.__setattr__(made, "_zone", zoneinfo.ZoneInfo.from_file(io.BytesIO(_data[key]), key=key))
            _made[key] = made
        return made

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("zoneinfo.ZoneInfo cannot be subclassed here; derive from datetime.tzinfo.")

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"{name} of a ZoneInfo cannot be set.")

    @property
    def key(self) -> str:
        """The zone's name."""
        return self._key

    def utcoffset(self, dt: datetime.datetime | None, /) -> datetime.timedelta | None:
        return self._zone.utcoffset(_plain(dt))

    def dst(self, dt: datetime.datetime | None, /) -> datetime.timedelta | None:
        return self._zone.dst(_plain(dt))

    def tzname(self, dt: datetime.datetime | None, /) -> str | None:
        return self._zone.tzname(_plain(dt))

    def fromutc(self, dt: datetime.datetime, /) -> datetime.datetime:
        if not is_instance(dt, datetime.datetime) or _tzinfo(dt) is not self:
            raise ValueError("fromutc takes a datetime whose tzinfo is this zone.")
        moment: datetime.datetime = self._zone.fromutc(_rebuilt(dt, self._zone))
        return moment.replace(tzinfo=self)

    def __repr__(self) -> str:
        return f"zoneinfo.ZoneInfo(key={self._key!r})"

    def __str__(self) -> str:
        return self._key

    def __copy__(self) -> ZoneInfo:
        return self

    def __deepcopy__(self, _memo: object) -> ZoneInfo:
        return self


_made: dict[str, ZoneInfo] = {}
ZoneInfo.__module__ = "zoneinfo"


def available_timezones() -> set[str]:
    """The keys that ZoneInfo takes here."""
    return set(_data)


ZONEINFO = facade(
    "zoneinfo",
    zoneinfo,
    take="ZoneInfoNotFoundError",
    own={"ZoneInfo": ZoneInfo, "available_timezones": available_timezones},
    left_out={"InvalidTZPathWarning TZPATH reset_tzpath": "zones are read before a session starts, from no path"},
)
