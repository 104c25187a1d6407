"""Import socket.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import socket

print("WON reached", socket.socket)
