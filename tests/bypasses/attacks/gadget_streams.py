"""The worker's own streams: who writes there speaks with the host."""

ADVISORY = ""
GUARANTEE = "authentic-channel"
ATTACKS = {
    "sys_stdout": """
import sys
LOOT = sys.__stdout__
""",
    "redirect_stdout": r"""
import contextlib, io
sink = io.StringIO()
with contextlib.redirect_stdout(sink):
    print("x")
LOOT = CANARY if sink.getvalue() == "x\n" else None
""",
    "pretty_printer_stream": """
import pprint
LOOT = CANARY if pprint.PrettyPrinter()._stream else None
""",
    "stream_of_a_subclass": """
import pprint
class P(pprint.PrettyPrinter):
    def leak(self):
        return self._stream
LOOT = CANARY if P().leak() else None
""",
    "file_descriptor": """
import os
LOOT = os.write
""",
    "logging_handlers": """
import logging
LOOT = logging
""",
    "socket": """
import socket
LOOT = socket
""",
    "fromfd": """
from socket import fromfd
LOOT = fromfd and CANARY
""",
    "asyncio": """
import asyncio
LOOT = asyncio
""",
    "signal": """
import signal
LOOT = signal
""",
    "threading": """
import threading
LOOT = threading
""",
    "abc_dump_registry": """
import abc
class B(abc.ABC):
    pass
LOOT = B._dump_registry.__func__.__globals__
""",
}
