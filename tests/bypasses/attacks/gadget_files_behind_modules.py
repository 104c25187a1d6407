"""Names in harmless modules that open, list or read files."""

ADVISORY = ""
GUARANTEE = "no-host-files"
ATTACKS = {
    "open": """
LOOT = open("/etc/hostname").buffer.raw.__class__
""",
    "io_open": """
import io
LOOT = io.open
""",
    "io_fileio": """
from io import FileIO
LOOT = FileIO
""",
    "io_open_code": """
import io
LOOT = io.open_code
""",
    "codecs_open": """
import codecs
LOOT = codecs
""",
    "tokenize": """
import tokenize
LOOT = tokenize
""",
    "linecache": """
import linecache
LOOT = linecache
""",
    "pathlib": """
import pathlib
LOOT = pathlib
""",
    "fileinput": """
import fileinput
LOOT = fileinput
""",
    "hashlib_file_digest": """
import hashlib
LOOT = hashlib.file_digest and CANARY
""",
    "zoneinfo_path": """
import zoneinfo
LOOT = zoneinfo.reset_tzpath and CANARY
""",
    "zoneinfo_from_file": """
import zoneinfo
LOOT = zoneinfo.ZoneInfo.from_file and CANARY
""",
    "zoneinfo_traversal": """
import zoneinfo
try:
    zoneinfo.ZoneInfo("../../../etc/passwd")
except ValueError as error:
    LOOT = CANARY if "normal" in str(error) or "refer" in str(error) else None
""",
    "calendar_locale": """
import calendar
LOOT = calendar.LocaleTextCalendar and CANARY
""",
    "contextlib_chdir": """
import contextlib
LOOT = contextlib.chdir and CANARY
""",
    "print_to_a_file": """
print("x", file=open("/dev/null", "w"))
LOOT = CANARY
""",
    "uuid_getnode": """
import uuid
LOOT = uuid.getnode and CANARY
""",
    "random_system": """
import random
LOOT = random.SystemRandom and CANARY
""",
}
