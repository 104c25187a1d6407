"""The probes of the containment row: each tries one thing, and does no harm where it succeeds.

They run in an arena only (driver.py). `@NAME@` stands for a fact of plant.py, or `@ADDRESS@` for where the secret lies
in the host's memory. Whether one has won is judged from outside: by a secret in what came out, by what plant.py saw,
by a host that died or did not answer. What it says itself counts only for limits, where it says WON after it has had
more than it was allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent
from typing import Final

#: How a probe wins, and what the table calls that.
WAYS: Final = {
    "secret": "escaped",
    "written": "escaped",
    "heard": "escaped",
    "decoy": "escaped",
    "host": "escaped",
    "late": "hung",
    "won": "unlimited",
    "silent": "spoofed",
    "forged": "spoofed",
}
OUTCOMES: Final = ("escaped", "hung", "unlimited", "spoofed", "held")


@dataclass(frozen=True)
class Probe:
    """`cells` run one after the other in one session; with `second`, the last one runs in another session.

    `silent`: the last cell raises, and the probe wins if the host has heard of no error. `forged`: it wins if FORGED is
    what comes out of the last cell.
    """

    name: str
    category: str
    way: str
    cells: tuple[str, ...]
    second: bool = False


def _probe(name: str, category: str, way: str, *cells: str, second: bool = False) -> Probe:
    return Probe(name, category, way, tuple(dedent(cell).strip() for cell in cells), second)


_SECRET = "@FOLDER@/secret.txt"
_CHAIN = """
    for kind in ().__class__.__base__.__subclasses__():
        if kind.__name__ == {name!r}:
            found = kind
    """
_FRAMES = """
    def texts(frame):
        while frame is not None:
            for space in (frame.f_globals, frame.f_locals):
                for name, value in list(space.items()):
                    if name == 'SECRET':
                        print(value)
            frame = frame.f_back
    """
#: Calls libc, as plain Python does.
_LIBC = "import ctypes\nlibc = ctypes.CDLL(None)\n"

FILE_READ: Final = (
    _probe("open", "file read", "secret", f"print(open('{_SECRET}').read())"),
    _probe("pathlib", "file read", "secret", f"import pathlib\nprint(pathlib.Path('{_SECRET}').read_text())"),
    _probe("os-open", "file read", "secret", f"import os\nprint(os.read(os.open('{_SECRET}', os.O_RDONLY), 99))"),
    _probe("dotdot", "file read", "secret", f"print(open('/usr/../proc/self/root/../{_SECRET}').read())"),
    _probe(
        "symlink", "file read", "secret",
        f"import os, tempfile\nlink = tempfile.mktemp()\nos.symlink('{_SECRET}', link)\nprint(open(link).read())",
    ),
    _probe("linecache", "file read", "secret", f"import linecache\nprint(linecache.getlines('{_SECRET}'))"),
    _probe("stdlib-submodule", "file read", "secret", f"import json\nprint(json.codecs.open('{_SECRET}').read())"),
    _probe(
        "class-chain", "file read", "secret",
        _CHAIN.format(name="FileLoader") + f"\n    print(found('x', '{_SECRET}').get_data('{_SECRET}'))",
    ),
    _probe(
        "list-directory", "file read", "secret",
        "import os\nfor name in os.listdir('@FOLDER@'):\n    if name == 'secret.txt':\n"
        "        print(open('@FOLDER@/' + name).read())",
    ),
    _probe(
        "mmap", "file read", "secret",
        f"import mmap, os\nend = os.open('{_SECRET}', os.O_RDONLY)\nprint(mmap.mmap(end, 0, prot=mmap.PROT_READ)[:])",
    ),
)  # fmt: skip
FILE_WRITE: Final = (
    _probe(
        "open-w", "file write", "written",
        "with open('@FOLDER@/written.txt', 'w') as file:\n    file.write('changed')",
    ),
    _probe("pathlib-new", "file write", "written", "import pathlib\npathlib.Path('@FOLDER@/new').write_text('x')"),
    _probe("rename", "file write", "written", "import os\nos.rename('@FOLDER@/written.txt', '@FOLDER@/renamed.txt')"),
    _probe("unlink", "file write", "written", "import os\nos.unlink('@FOLDER@/written.txt')"),
    _probe("plant-symlink", "file write", "written", "import os\nos.symlink('/', '@FOLDER@/link')"),
    _probe("chmod", "file write", "written", "import os\nos.chmod('@FOLDER@/written.txt', 0o777)"),
    _probe("shell-write", "file write", "written", "import os\nos.system('echo x > @FOLDER@/new')"),
)  # fmt: skip
NETWORK: Final = (
    _probe("tcp", "network", "heard", "import socket\nsocket.create_connection(('127.0.0.1', @TCP@), 2)"),
    _probe(
        "udp", "network", "heard",
        "import socket\nsocket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', @UDP@))",
    ),
    _probe(
        "unix-path", "network", "heard", "import socket\nsocket.socket(socket.AF_UNIX).connect('@FOLDER@/socket')"
    ),
    _probe(
        "unix-abstract", "network", "heard",
        "import socket\nsocket.socket(socket.AF_UNIX).connect('\\0' + '@ABSTRACT@')",
    ),
    _probe(
        "urllib", "network", "heard",
        "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:@TCP@/', timeout=2)",
    ),
    _probe(
        "ctypes-socket", "network", "heard",
        _LIBC + "import struct\nend = libc.socket(2, 1, 0)\n"
        "to = struct.pack('=H', 2) + struct.pack('!H4s8x', @TCP@, bytes([127, 0, 0, 1]))\nlibc.connect(end, to, 16)",
    ),
)  # fmt: skip
PROCESS: Final = (
    _probe(
        "subprocess", "process", "secret", f"import subprocess\nprint(subprocess.check_output(['cat', '{_SECRET}']))"
    ),
    _probe("popen", "process", "secret", f"import os\nprint(os.popen('cat {_SECRET}').read())"),
    _probe(
        "subclass-popen", "process", "secret",
        _CHAIN.format(name="_wrap_close") + f"\n    print(found.__init__.__globals__['popen']('cat {_SECRET}').read())",
    ),
    _probe("kill-process", "process", "decoy", "import os\nos.kill(@DECOY@, 9)"),
    _probe("kill-parent", "process", "host", "import os\nos.kill(@HOST@, 9)"),
    _probe("ctypes-kill", "process", "decoy", _LIBC + "libc.kill(@DECOY@, 9)"),
    _probe("priority", "process", "decoy", "import os\nos.setpriority(os.PRIO_PROCESS, @DECOY@, 19)"),
    _probe(
        "process-list", "process", "secret",
        "import os\nfor each in os.listdir('/proc'):\n    if each.isdigit():\n"
        "        print(open('/proc/' + each + '/cmdline').read().replace(chr(0), ' '))",
    ),
    _probe("exit", "process", "host", "import os\nos._exit(3)"),
    _probe("system-exit", "process", "host", "raise SystemExit(3)"),
    _probe("keyboard-interrupt", "process", "host", "raise KeyboardInterrupt"),
    _probe("segfault", "process", "host", "import ctypes\nctypes.string_at(0)"),
)  # fmt: skip
SECRETS: Final = (
    _probe("environ", "environment", "secret", "import os\nprint(dict(os.environ))"),
    _probe("getenv", "environment", "secret", "import os\nprint(os.getenv('SECRET_OF_THE_HOST'))"),
    _probe("proc-self-environ", "environment", "secret", "print(open('/proc/self/environ').read())"),
    _probe("proc-host-environ", "environment", "secret", "print(open('/proc/@HOST@/environ').read())"),
    _probe("env-command", "environment", "secret", "import subprocess\nprint(subprocess.check_output(['env']))"),
    _probe(
        "ctypes-getenv", "environment", "secret",
        _LIBC + "libc.getenv.restype = ctypes.c_char_p\nprint(libc.getenv(b'SECRET_OF_THE_HOST'))",
    ),
    _probe(
        "sys-modules-os", "environment", "secret",
        "import sys\nprint(sys.modules['os'].environ['SECRET_OF_THE_HOST'])",
    ),
)  # fmt: skip
MEMORY: Final = (
    _probe("frames", "host memory", "secret", _FRAMES + "\n    import sys\n    texts(sys._getframe())"),
    _probe(
        "generator-frame", "host memory", "secret",
        _FRAMES + "\n    def walk():\n        yield texts(g.gi_frame.f_back)\n    g = walk()\n    next(g)",
    ),
    _probe(
        "traceback-frame", "host memory", "secret",
        _FRAMES
        + "\n    try:\n        1 / 0\n    except Exception as error:\n        texts(error.__traceback__.tb_frame)",
    ),
    _probe(
        "garbage", "host memory", "secret",
        "import gc\nfor each in gc.get_objects():\n    if type(each) is dict and 'SECRET_BYTES' in each:\n"
        "        print(each['SECRET'])",
    ),
    _probe("main-module", "host memory", "secret", "import __main__\nprint(__main__.SECRET)"),
    _probe("sys-modules", "host memory", "secret", "import sys\nprint(sys.modules['__main__'].SECRET)"),
    _probe(
        "tool-globals", "host memory", "secret",
        "print(llm_query.__func__.__globals__['time'].__loader__.__class__)\n"
        "modules = llm_query.__func__.__globals__['importlib'].sys.modules\nprint(modules['__main__'].SECRET)",
    ),
    _probe(
        "format-globals", "host memory", "secret",
        "print('{0.__func__.__globals__[importlib].sys.modules[__main__].SECRET}'.format(llm_query))",
    ),
    _probe(
        "proc-mem", "host memory", "secret",
        "with open('/proc/@HOST@/mem', 'rb') as file:\n    file.seek(@ADDRESS@)\n    print(file.read(64))",
    ),
    _probe(
        "read-process", "host memory", "secret",
        _LIBC + "buffer = ctypes.create_string_buffer(64)\nclass Part(ctypes.Structure):\n"
        "    _fields_ = [('at', ctypes.c_void_p), ('size', ctypes.c_size_t)]\n"
        "ours, theirs = Part(ctypes.addressof(buffer), 64), Part(@ADDRESS@, 64)\n"
        "libc.process_vm_readv(@HOST@, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)\nprint(buffer.value)",
    ),
)  # fmt: skip
LIMITS: Final = (
    _probe("memory-text", "limits", "won", "x = 'a' * (400 * 2 ** 20)\nprint('WON', len(x))"),
    _probe(
        "memory-list", "limits", "won",
        "x = []\nfor i in range(400):\n    x.append('a' * (2 ** 20 + i))\nprint('WON', len(x))",
    ),
    _probe("endless-loop", "limits", "late", "while True:\n    x = 1"),
    _probe(
        "caught-loop", "limits", "late",
        "while True:\n    try:\n        while True:\n            x = 1\n    except BaseException:\n        y = 2",
    ),
    _probe("sleep", "limits", "late", "import time\ntime.sleep(60)"),
    _probe("power", "limits", "late", "x = 10 ** (10 ** 8)"),
    _probe("regex", "limits", "late", "import re\nre.match('(a+)+$', 'a' * 40 + 'b')"),
    _probe("endless-sum", "limits", "late", "x = sum(iter(int, 1))"),
    _probe("output", "limits", "won", "for i in range(10):\n    print('a' * 2 ** 20)\nprint('WON')"),
    _probe(
        "processes", "limits", "won",
        "import subprocess\nall = [subprocess.Popen(['sleep', '2']) for _ in range(100)]\nprint('WON', len(all))",
    ),
    _probe(
        "forks", "limits", "won",
        "import os, time\nfor _ in range(100):\n    if os.fork() == 0:\n        time.sleep(2)\n        os._exit(0)\n"
        "print('WON')",
    ),
    _probe(
        "threads", "limits", "won",
        "import threading, time\nfor _ in range(200):\n    threading.Thread(target=time.sleep, args=(2,)).start()\n"
        "print('WON' if threading.active_count() > 150 else 'few')",
    ),
    _probe(
        "disk", "limits", "won",
        "import tempfile\nfile = tempfile.TemporaryFile()\nfor _ in range(200):\n    file.write(b'a' * 2 ** 20)\n"
        "print('WON')",
    ),
    _probe(
        "recursion", "limits", "host",
        "import sys\nsys.setrecursionlimit(10 ** 8)\ndef f(n):\n    return sorted([n], key=f)\nf(0)",
    ),
)  # fmt: skip
#: What a naive worker, or a naive host, takes for its own word of a cell that ended well.
_WORD = '{"stdout": "FORGED", "error": null}'
SPOOF: Final = (
    _probe(
        "write-result", "result spoofing", "silent",
        f"import os\nfor end in range(1, 20):\n    try:\n        os.write(end, b'{_WORD}' + bytes([10]))\n"
        "    except OSError:\n        pass\nraise ValueError('real')",
    ),
    _probe(
        "patch-json", "result spoofing", "silent",
        f"import json\njson.dumps = lambda *_, **__: '{_WORD}'", "raise ValueError('real')",
    ),
    _probe(
        "patch-stdout", "result spoofing", "silent",
        "import sys\nclass Liar:\n    def write(self, text):\n        real.write(WORD + chr(10))\n"
        "    def flush(self):\n        real.flush()\n"
        f"real, WORD = sys.__stdout__, '{_WORD}'\nsys.__stdout__ = Liar()", "raise ValueError('real')",
    ),
    _probe(
        "patch-caller", "result spoofing", "silent",
        "import sys\nframe = sys._getframe()\nwhile frame:\n    if 'run' in frame.f_globals:\n"
        "        frame.f_globals['run'] = lambda *_: {'stdout': 'FORGED', 'error': None}\n    frame = frame.f_back",
        "raise ValueError('real')",
    ),
    _probe(
        "shadow-model", "result spoofing", "forged",
        "def llm_query(prompt):\n    return 'FOR' + 'GED'", "print(llm_query('q'))",
    ),
    _probe(
        "shadow-print", "result spoofing", "forged",
        "import builtins\nreal = print\nbuiltins.print = lambda *_: real('FOR' + 'GED')", "print('honest')",
        second=True,
    ),
    _probe(
        "shadow-len", "result spoofing", "forged",
        "import builtins\nbuiltins.len = lambda _: 'FOR' + 'GED'", "print(len([1, 2, 3]))",
    ),
    _probe(
        "late-thread", "result spoofing", "forged",
        "import threading, time\ndef late():\n    time.sleep(0.3)\n    print('FOR' + 'GED')\n"
        "threading.Thread(target=late).start()",
        "import time\ntime.sleep(0.8)",
    ),
)  # fmt: skip

PROBES: Final = (*FILE_READ, *FILE_WRITE, *NETWORK, *PROCESS, *SECRETS, *MEMORY, *LIMITS, *SPOOF)
CATEGORIES: Final = tuple(dict.fromkeys(probe.category for probe in PROBES))
