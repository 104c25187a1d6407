"""`python -m benchmarks [NAME...] [--smoke] [--json]`."""

import sys

from benchmarks.runner import main

sys.exit(main())
