"""Send what was read to a server, with the client that the standard library has.

guarantee: no-network
layer: both
wins: connects
outcome: harmless
"""

import http.client

connection = http.client.HTTPConnection("127.0.0.1", TARGET["port"], timeout=5)
connection.request("POST", "/", body="invoice 17: 9.50 EUR")
print("WON sent")
