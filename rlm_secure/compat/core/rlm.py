"""Upstream's `rlm.core.rlm` is the loop's own module, so that a test that patches a client in it affects the loop."""

import sys

from rlm_secure.rlm import rlm

sys.modules[__name__] = rlm
