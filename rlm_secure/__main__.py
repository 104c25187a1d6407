"""`python -m rlm_secure` is `rlm-secure`."""

import os
import sys

# `-m` puts the current directory first: a file in it would shadow a module of the standard library, or of ours.
if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 - pathlib could be such a file
    del sys.path[0]

from rlm_secure.cli import main

sys.exit(main())
