"""C code of dates takes numbers that nobody checked, and any object for a date.

`date(b"...")` is how a pickle makes one: no calendar has it, and `ctime` of it reads a name before the beginning of a
table. A time zone reads the fold of whatever it is asked about, and takes it for an index.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
_STATE = """
import datetime
class D(datetime.date):
    pass
class S(datetime.datetime):
    def __new__(cls, state):
        return super().__new__(cls, state)
text = {made}.ctime()
LOOT = CANARY if " 0000" in text or " 2 0" in text else None
"""
_ZONE = """
import datetime, zoneinfo
class D:
    __slots__ = ("a", "b", "c", "d", "e", "f")  # empty, so that the fold is read as 0
    year = month = day = 1
    hour = minute = second = microsecond = 0
    def toordinal(self):
        return 730000
LOOT = CANARY if zoneinfo.ZoneInfo("Europe/Berlin").{asked}(D()) else None
"""
_DERIVED = """
import datetime, zoneinfo
class D(datetime.datetime):
    def toordinal(self):
        asked.append(CANARY)
        return 730000
asked = []
zoneinfo.ZoneInfo("Europe/Berlin").{asked}(D(2020, 1, 1))
LOOT = asked
"""
_MADE = {
    "date": "datetime.date(bytes([0, 0, 1, 2]))",
    "derived": "D(bytes([0, 0, 1, 2]))",
    "datetime": "datetime.datetime(bytes([0, 0, 1, 2, 0, 0, 0, 0, 0, 0]))",
    "by_super": "S(bytes([0, 0, 1, 2, 0, 0, 0, 0, 0, 0]))",
    "text": "datetime.date('\\0\\0\\1\\2')",
}
_ASKED = ("utcoffset", "dst", "tzname")
ATTACKS = {f"state_{name}": _STATE.format(made=made) for name, made in _MADE.items()}
ATTACKS["state_copied"] = "import copy\n" + _STATE.format(made="copy.copy(D(bytes([0, 0, 1, 2])))")
ATTACKS |= {f"zone_{asked}": _ZONE.format(asked=asked) for asked in _ASKED if asked != "dst"}
ATTACKS |= {f"zone_{asked}_of_a_derived_class": _DERIVED.format(asked=asked) for asked in _ASKED}
