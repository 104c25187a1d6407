"""What is tried in an arena, by whoever is in there: `python -c SOURCE ARGUMENTS` prints one line of JSON facts.

Each fact is what was reached, or the name of the errno. It is run as an argument: an arena need not see this file.
"""

import _thread
import contextlib
import ctypes
import errno
import fcntl
import json
import os
import socket
import stat
import struct
import sys
import threading
import time

MS_REMOUNT, MS_BIND, MS_MOVE, MS_REC, MNT_DETACH = 32, 4096, 8192, 16384, 2
MOUNT_SETATTR, MOVE_MOUNT, OPEN_TREE, PTRACE_ATTACH = 442, 429, 428, 16
KEYCTL, REQUEST_KEY = {"x86_64": (250, 249), "aarch64": (219, 218)}[os.uname().machine]
NAMESPACES = 0x10000000 | 0x00020000 | 0x20000000 | 0x08000000 | 0x02000000 | 0x40000000
PLACES = ("/", "/etc", "/usr", "/usr/bin", "/var", "/var/lib", "/opt", "/srv", "/run", "/root", "/home", "/sys", "/dev")
KERNELS = (
    "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/drop_caches",
    "/proc/sys/fs/file-max", "/proc/sys/kernel/panic", "/sys/fs/cgroup/memory/cgroup.procs", "/proc/kmsg", "/proc/kcore",
)  # fmt: skip
KINDS = ("devtmpfs", "debugfs", "tracefs", "securityfs", "bpf", "sysfs", "hugetlbfs", "ext4")
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def tried(body, *arguments):
    try:
        return body(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def mount(source, target, kind=None, flags=0, data=None):
    coded = [None if text is None else text.encode() for text in (source, target, kind, data)]
    return checked(libc.mount(coded[0], coded[1], coded[2], ctypes.c_ulong(flags), coded[3]))


def below(path):
    names = os.listdir(path)
    libc.umount2(path.encode(), MNT_DETACH)
    return sorted(names)


def mounts():
    return [line.split()[1:4] for line in open("/proc/self/mounts").read().splitlines()]


def uncovered():
    """What could be taken off, made writable, or looked below."""
    os.makedirs("/tmp/m", exist_ok=True)
    os.makedirs("/tmp/u", exist_ok=True)
    os.makedirs("/tmp/w", exist_ok=True)
    won = []
    for path, _, _ in reversed(mounts()):
        won += [f"umount {path} {flags}" for flags in (0, MNT_DETACH) if libc.umount2(path.encode(), flags) == 0]
    top = {path: options.split(",") for path, _, options in mounts()}
    clear = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
    for path in (path for path, options in top.items() if "ro" in options):
        name = path.encode()
        won += [f"remount {path}"] * (libc.mount(None, name, None, ctypes.c_ulong(MS_REMOUNT | MS_BIND), None) == 0)
        won += [f"superblock {path}"] * (libc.mount(None, name, None, ctypes.c_ulong(MS_REMOUNT), None) == 0)
        won += [f"setattr {path}"] * (libc.syscall(MOUNT_SETATTR, -100, name, 0, clear, ctypes.c_long(32)) == 0)
    for path in ("/root", "/home", "/run", "/etc/shadow"):
        tree = libc.syscall(OPEN_TREE, -100, b"/tmp/m", ctypes.c_uint(1))
        won += [f"beneath {path}"] * (libc.syscall(MOVE_MOUNT, tree, b"", -100, path.encode(), 0x204) == 0)
        won += [f"move {path}"] * (libc.mount(path.encode(), b"/tmp/m", None, ctypes.c_ulong(MS_MOVE), None) == 0)
    won += [f"mount {kind}" for kind in KINDS if tried(mount, "/dev/vda", "/tmp/m", kind) == 0]
    looks = {
        "bind": ("/", "/tmp/m", None, MS_BIND),
        "overlay": ("none", "/tmp/m", "overlay", 0, "lowerdir=/,upperdir=/tmp/u,workdir=/tmp/w,userxattr"),
    }
    for name, arguments in looks.items():
        won += [name] * (tried(mount, *arguments) == 0)
        libc.umount2(b"/tmp/m", MNT_DETACH)
    won += ["open_tree"] * (libc.syscall(OPEN_TREE, -100, b"/", ctypes.c_uint(1)) >= 0)
    if tried(mount, "/", "/tmp/m", None, MS_BIND | MS_REC) == 0:
        won += [f"copy {name}" for name in ("root", "home", "run") if libc.umount2(f"/tmp/m/{name}".encode(), 2) == 0]
        libc.umount2(b"/tmp/m", MNT_DETACH)
    for controllers in ("memory", "pids", "cpu"):
        if tried(mount, "c", "/tmp/m", "cgroup", 0, controllers) == 0:
            names = ("cgroup.procs", "release_agent", "memory.limit_in_bytes", "pids.max", "cpu.cfs_quota_us")
            won += [f"cgroup {name}" for name in names if os.access(f"/tmp/m/{name}", os.W_OK)]
            libc.umount2(b"/tmp/m", MNT_DETACH)
    return won


def nested(body):
    """What `body` returns as root of another user namespace in here, with all other namespaces new as well."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        uid, gid = os.getuid(), os.getgid()
        try:
            checked(libc.unshare(NAMESPACES))
            for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
                open(f"/proc/self/{name}", "w").write(text)
            if (grandchild := os.fork()) == 0:
                os.write(writer, json.dumps(body()).encode())
                os._exit(0)
            os.waitpid(grandchild, 0)
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as pipe:
        return json.loads(pipe.read() or "null")


def connected(address, family=socket.AF_UNIX):
    with socket.socket(family) as client:
        client.settimeout(2)
        client.connect(address)
        return "connected"


def written(directory, name):
    with open(f"{directory}/{name}", "w") as file:
        file.write("won")
    return "written"


def key():
    number = checked(libc.syscall(REQUEST_KEY, b"user", b"rlm-secure-test", None, ctypes.c_long(0)))
    kept = ctypes.create_string_buffer(32)
    return kept.raw[: checked(libc.syscall(KEYCTL, 11, ctypes.c_long(number), kept, ctypes.c_long(32)))].decode()


def device():
    with contextlib.suppress(FileNotFoundError):
        os.unlink("/tmp/device")
    os.mknod("/tmp/device", 0o666 | stat.S_IFBLK, os.stat("/").st_dev)
    return os.open("/tmp/device", os.O_RDONLY)


def environments():
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            found[pid] = "rlm-secure-secret" in open(f"/proc/{pid}/environ", errors="replace").read()
    return found


def suid():
    """Whether a setuid program gives the right to anything: the effective user under one."""
    for path in ("/usr/bin/su", "/usr/bin/passwd", "/usr/bin/mount", "/bin/su"):
        if os.path.exists(path):
            return bool(os.statvfs(path).f_flag & os.ST_NOSUID)
    return True


def loopback():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return connected(server.getsockname()[:2], socket.AF_INET)


def facts(given):
    return {
        "uid": os.getuid(),
        "pid": os.getpid(),
        "sid": os.getsid(0) == os.getpid(),
        "host": socket.gethostname(),
        "namespaces": {name: os.stat(f"/proc/self/ns/{name}").st_ino for name in os.listdir("/proc/self/ns")},
        "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
        "descriptors": sorted(
            int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")
        ),
        "environment": dict(os.environ),
        "environments": environments(),
        "listings": {
            path: tried(os.listdir, path) for path in ("/root", "/home", "/run", "/tmp", "/var/tmp", "/dev/shm")
        },
        "home": tried(os.listdir, given["home"]),
        "shadow": tried(lambda: len(open("/etc/shadow").read())),
        "devices": sorted(os.listdir("/dev")),
        "written": {path: tried(written, path, given["name"]) for path in (*PLACES, given["open"], given["cwd"])},
        "changed": tried(lambda: open(f"{given['open']}/file", "a").close()),
        "private": [tried(written, path, given["name"]) for path in ("/tmp", "/var/tmp", "/dev/shm")],
        "kernel": {path: tried(os.open, path, os.O_WRONLY) for path in KERNELS},
        "abstract": tried(connected, "\0" + given["name"]),
        "socket": tried(connected, given["socket"]),
        "port": tried(connected, ("127.0.0.1", given["port"]), socket.AF_INET),
        "loopback": tried(loopback),
        "memory": tried(lambda: checked(libc.shmget(given["shm"], 1, 0))),
        "signal": tried(os.kill, given["victim"], 0),
        "key": tried(key),
        "trace": tried(lambda: checked(libc.ptrace(PTRACE_ATTACH, 1, 0, 0))),
        "init": {name: tried(os.readlink, f"/proc/1/{name}") for name in ("exe", "cwd", "root", "fd/1")},
        "device": tried(device),
        "time": tried(time.clock_settime, time.CLOCK_REALTIME, time.time()),
        "module": tried(
            lambda: checked(libc.syscall({"x86_64": 175, "aarch64": 105}[os.uname().machine], b"", 0, b""))
        ),
        "reboot": tried(lambda: checked(libc.reboot(0))),
        "suid": suid(),
        "limits": open("/proc/self/limits").read(),
        "mounts": mounts(),
        "uncovered": uncovered(),
        "nested": nested(uncovered),
        "name": tried(socket.sethostname, "won"),
        "owner": tried(lambda: fcntl.ioctl(os.open("/proc/self/ns/pid", os.O_RDONLY), 0xB701)),
        "parent": tried(lambda: fcntl.ioctl(os.open("/proc/self/ns/user", os.O_RDONLY), 0xB702)),
    }


def bomb(count):
    """How many tasks there can be at a time, under as many users as there are: threads count as processes do."""
    threading.stack_size(1 << 16)
    sys.setswitchinterval(600)  # else thousands wake up 200 times a second to ask for the interpreter: 30 s of a processor
    gate = threading.Lock()
    gate.acquire()
    for number in range(count):
        if os.getuid() == 0 and number % 3000 == 0:  # RLIMIT_NPROC counts by the real user; of this thread alone
            libc.syscall({"x86_64": 117, "aarch64": 147}[os.uname().machine], 1 + number // 3000, 0, 0)
        try:
            _thread.start_new_thread(gate.acquire, ())
        except RuntimeError:
            return number
    return count


def type_into_terminal():
    """Whether a key can be pressed on the terminal that is our standard input."""
    tried(fcntl.ioctl, 0, 0x540E, 1)  # TIOCSCTTY, stealing
    return tried(lambda: fcntl.ioctl(0, 0x5412, struct.pack("c", b"!")) and "typed")


if __name__ == "__main__":
    if not os.path.exists("/run/rlm-secure-arena"):
        sys.exit("this is the machine itself")
    asked = json.loads(sys.argv[1])
    if "bomb" in asked:
        answer = bomb(asked["bomb"])
    elif "terminal" in asked:
        answer = type_into_terminal()
    else:
        answer = facts(asked)
    print(json.dumps(answer), flush=True)
    os._exit(0)
