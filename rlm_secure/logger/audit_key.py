"""The key that seals an audit log: from a file that only its owner can read, or from one environment variable.

Never from a command-line argument: other users see those. No log contains it, and no sandbox has either source.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from rlm_secure import files
from rlm_secure.errors import AuditLogError

#: The environment variable that a key may be in.
VARIABLE: Final = "RLM_SECURE_AUDIT_KEY"
#: Bytes of a key, without the white space around it.
SHORTEST: Final = 32
_LONGEST: Final = 4096


def audit_key(file: str | Path | None = None) -> bytes | None:
    """The key in `file`, which nobody but its owner may read; else the one in RLM_SECURE_AUDIT_KEY, else None.

    Raises AuditLogError for a file that cannot be read or that others can, and for a key under 32 bytes.
    """
    if file is not None:
        try:
            key, where = files.read_private(file, _LONGEST), str(file)
        except OSError as error:
            raise AuditLogError(f"the key in {file} cannot be used: {error.strerror}") from None
    elif VARIABLE in os.environ:
        key, where = os.fsencode(os.environ[VARIABLE]), VARIABLE
    else:
        return None
    return checked(key.strip(), where)


def checked(key: bytes, where: str) -> bytes:
    """`key`. Raises AuditLogError where it is too short to be one."""
    if len(key) < SHORTEST:
        raise AuditLogError(
            f"the key in {where} has {len(key)} bytes, and needs {SHORTEST}; make one with: openssl rand -hex 32"
        )
    return key
