"""List the network interfaces through the socket on descriptor 3.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
needs: channel, ctypes
control: machine - there may be no interface with an address
"""

SIOCGIFCONF = 0x8912
table = ctypes.create_string_buffer(4096)
request = ctypes.create_string_buffer(16)
ctypes.c_int.from_buffer(request, 0).value = 4096
ctypes.c_long.from_buffer(request, 8).value = ctypes.addressof(table)
call("ioctl", 3, SIOCGIFCONF, request)
size = ctypes.c_int.from_buffer(request, 0).value
if size == 0:
    raise OSError(19, "no interface has an address")
print("WON", table.raw[:size][:80])
