"""Start Python again, from the interpreter's own path.

guarantee: no-exec
layer: kernel
wins: writes
"""

import sys

os.execv(sys.executable, ["python", "-c", f"open({TARGET['inbox'] + '/made'!r}, 'w')"])
