"""Start Python again, from the interpreter's own path, or a shell where that path is out of reach.

guarantee: no-exec
layer: kernel
wins: writes
outcome: kills its own process tree
"""

import os
import sys

made = TARGET["inbox"] + "/made"
for program, *arguments in (
    (sys.executable, "python", "-c", f"open({made!r}, 'w')"),
    ("/bin/sh", "sh", "-c", f": > {made}"),
):
    try:
        os.execv(program, arguments)
    except OSError as error:
        refused = error
raise refused
