"""`python -m rlm_secure` is `rlm-secure`."""

import sys

from rlm_secure.cli import main

sys.exit(main())
