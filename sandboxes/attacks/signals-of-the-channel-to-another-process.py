"""Have the kernel signal another process whenever the channel has data.

guarantee: host-integrity
layer: kernel
wins: prints
outcome: harmless
needs: channel, ctypes
"""

F_SETOWN, F_SETSIG = 8, 10
call("fcntl", 3, F_SETOWN, another(TARGET["bystander"]))
call("fcntl", 3, F_SETSIG, 15)
print("WON the channel now signals", TARGET["bystander"])
