"""Upstream's `rlm.core.rlm` is the loop's own module: a test that puts a client in it reaches the loop."""

import sys

from rlm_secure.rlm import rlm

sys.modules[__name__] = rlm
