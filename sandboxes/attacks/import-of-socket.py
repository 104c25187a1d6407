"""Import socket.

guarantee: no-reflection
layer: language
wins: reflects
"""

import socket

print("WON reached", socket.socket)
