"""The files of a session, as a mapping from names to bytes. They are in the sandbox's memory, and on no disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from rlm_secure import files
from rlm_secure.broker.protocol import MAX_FILE_NAME, is_file_name
from rlm_secure.environments.interface import Session
from rlm_secure.inert import excerpt
from rlm_secure.policy.gate import Gate

if TYPE_CHECKING:
    from rlm_secure.policy.model import Policy


class SessionFiles(MutableMapping[str, bytes]):
    """`files["sales.csv"]` reads a file of a session, and setting it writes one, for cells to read and change.

    Names are parts divided by /, as in an archive: no absolute path, no `..`, and no dot or blank at the end of a
    part. Cells choose names, and `.git/config` is one: who writes files below a folder says which to take. Contents are
    bytes, a str (written as UTF-8), or a Path, which is read here, on the host. Every use is a request to the session,
    and takes its turn.

    Raises KeyError for a file that is not there, Refused where the policy grants no files or not so many bytes,
    ValueError for a name that no file can have, CellError where the session has no room, OSError for a Path that
    cannot be read, and EnvironmentUnavailable for a session of another distribution that has no files.
    """

    def __init__(self, policy: Policy, walled: Callable[[], AbstractContextManager[Session]]) -> None:
        self._gate = Gate(policy)
        self._most = policy.limits.file_bytes
        self._walled = walled

    def __getitem__(self, name: str) -> bytes:
        with self._session() as session:
            data = session.read_file(name)
        if data is None:
            raise KeyError(name)
        return data

    def __setitem__(self, name: str, data: bytes | bytearray | str | Path) -> None:
        if not is_file_name(name):
            raise ValueError(
                f"{excerpt(str(name))!r} cannot be a file's name: it has 1 to {MAX_FILE_NAME} characters, and parts "
                "divided by /, none of which is empty, . or .. or has a control character, a backslash or a colon"
            )
        if isinstance(data, Path):
            data = files.read(str(data), self._most)
        elif isinstance(data, str):
            data = data.encode()
        elif not isinstance(data, bytes | bytearray):
            raise TypeError(f"a file is bytes, a str or a Path, not {type(data).__name__}")
        self._gate.file_bytes(len(data)).require()
        with self._session() as session:
            session.write_file(name, bytes(data))

    def __delitem__(self, name: str) -> None:
        with self._session() as session:
            if name not in session.list_files():
                raise KeyError(name)
            session.write_file(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.sizes())

    def __len__(self) -> int:
        return len(self.sizes())

    def __contains__(self, name: object) -> bool:
        return name in self.sizes()

    def __repr__(self) -> str:
        return "<the files of a session>"  # it asks nothing: a debugger shows it at any time

    def sizes(self) -> dict[str, int]:
        """The size of each file, in bytes."""
        with self._session() as session:
            return session.list_files()

    def _session(self) -> AbstractContextManager[Session]:
        self._gate.files().require()
        return self._walled()
