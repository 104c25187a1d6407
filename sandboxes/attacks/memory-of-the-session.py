"""Search every Python object of its own process for a secret of the host.

guarantee: no-secrets
layer: kernel
wins: reveals
outcome: harmless
"""

import gc
import re

secret = re.compile(r"\b(?:file|variable|descriptor|memory|command-line)-[0-9a-f]{32}\b")
for holder in gc.get_objects():
    for held in gc.get_referents(holder):
        for text in [*held, *held.values()] if type(held) is dict else [held]:
            if type(text) in (str, bytes):
                found = secret.search(text if type(text) is str else text.decode("latin-1"))
                if found:
                    print(found[0])
