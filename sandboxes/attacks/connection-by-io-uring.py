"""Make a socket and connect it through io_uring, with no socket system call.

guarantee: no-network
layer: kernel
wins: connects
outcome: harmless
needs: ctypes
control: machine - io_uring may be switched off (kernel.io_uring_disabled)
"""

import mmap
import struct

parameters = ctypes.create_string_buffer(120)
ring = call("io_uring_setup", 4, parameters)
words = struct.unpack("30I", parameters.raw)
rings = mmap.mmap(ring, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=0)
entries = mmap.mmap(ring, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE, offset=0x10000000)


def submit(operation, fd, address, length, offset=0, flags=0):
    (tail,) = struct.unpack_from("I", rings, words[11])
    index = tail % 4
    struct.pack_into("BBHiQQII24x", entries, 64 * index, operation, 0, 0, fd, offset, address, length, flags)
    struct.pack_into("I", rings, words[16] + 4 * index, index)
    struct.pack_into("I", rings, words[11], tail + 1)
    call("io_uring_enter", ring, 1, 1, 1, 0, 0)
    (head,) = struct.unpack_from("I", rings, words[20])
    _, result, _ = struct.unpack_from("QiI", rings, words[25] + 16 * (head % words[23]))
    struct.pack_into("I", rings, words[20], head + 1)
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result



import struct

fd = submit(45, 2, 0, 0, offset=1)  # IORING_OP_SOCKET: domain in fd, type in offset
address = ctypes.create_string_buffer(
    struct.pack("H", 2) + struct.pack("!H4s8x", TARGET["port"], bytes([127, 0, 0, 1]))
)
submit(16, fd, ctypes.addressof(address), 0, offset=16)  # IORING_OP_CONNECT
print("WON connected")
