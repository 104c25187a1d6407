"""SHA-256 without OpenSSL, which hashlib loads for 2 ms: what a first session waits for uses this one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256 as sha256
else:
    try:  # as `random` does
        if sys.version_info >= (3, 12):
            from _sha2 import sha256 as sha256
        else:
            from _sha256 import sha256 as sha256
    except ImportError:  # a Python that was built without it
        from hashlib import sha256 as sha256
