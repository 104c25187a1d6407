"""Contexts in a supervisor: in order, whole, sealed, or refused with what is wrong with them."""

from __future__ import annotations

import hashlib
import os
import resource
from collections.abc import Iterator

import pytest

from rlm_secure.environments.docker import container
from rlm_secure.guest.supervisor import uploads as module
from rlm_secure.guest.supervisor.http import HttpError
from rlm_secure.guest.supervisor.uploads import MAX_UPLOADS, Uploads

CHUNKS = (b"first chunk", b"second")
TOTAL = sum(map(len, CHUNKS))


@pytest.fixture
def uploads() -> Iterator[Uploads]:
    made = Uploads(1000)
    yield made
    made.clear()


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def whole(*chunks: bytes) -> str:
    return hashlib.sha256(b"".join(hashlib.sha256(chunk).digest() for chunk in chunks)).hexdigest()


def put(uploads: Uploads, chunk: bytes, offset: int | str, *, total: int | str = TOTAL, sha256: str = "", number="7") -> int:
    query = {"offset": str(offset), "total": str(total), **({"sha256": sha256} if sha256 else {})}
    return uploads.put(number, query, bytearray(chunk), digest(chunk))


def refusal(uploads: Uploads, *arguments: object, **options: object) -> tuple[int, str]:
    with pytest.raises(HttpError) as refused:
        put(uploads, *arguments, **options)  # type: ignore[arg-type]
    return refused.value.status, refused.value.rule


def complete(uploads: Uploads) -> None:
    assert put(uploads, CHUNKS[0], 0) == len(CHUNKS[0])
    assert put(uploads, CHUNKS[1], len(CHUNKS[0]), sha256=whole(*CHUNKS)) == TOTAL


def test_a_context_arrives_whole_and_can_be_changed_by_nobody(uploads: Uploads) -> None:
    complete(uploads)
    fd = uploads.share("7")
    assert os.pread(fd, 100, 0) == b"".join(CHUNKS) + bytes(4)
    with pytest.raises(PermissionError):
        os.pwrite(fd, b"x", 0)
    for size in (0, 100):
        with pytest.raises(PermissionError):
            os.ftruncate(fd, size)
    os.close(fd)


def test_a_chunk_that_is_there_already_changes_nothing(uploads: Uploads) -> None:
    assert put(uploads, CHUNKS[0], 0) == put(uploads, CHUNKS[0], 0) == len(CHUNKS[0])
    for _ in range(2):
        assert put(uploads, CHUNKS[1], len(CHUNKS[0]), sha256=whole(*CHUNKS)) == TOTAL
    assert put(uploads, CHUNKS[0], 0) == TOTAL
    assert put(uploads, b"", TOTAL) == TOTAL
    assert refusal(uploads, CHUNKS[1], len(CHUNKS[0]), sha256=whole(b"another")) == (409, "context-hash")


def test_what_does_not_fit_together_is_refused(uploads: Uploads) -> None:
    assert refusal(uploads, b"x", 0, total=1001) == (413, "context-size")
    put(uploads, CHUNKS[0], 0)
    assert refusal(uploads, CHUNKS[1], len(CHUNKS[0]), total=TOTAL + 1) == (409, "context-total")
    assert refusal(uploads, CHUNKS[1] + b"x", len(CHUNKS[0])) == (409, "context-total")
    assert refusal(uploads, b"x", TOTAL - 1) == (409, "context-gap")
    for text in ("", "-1", "1.0", "01", "9" * 14, "\u0663"):
        assert refusal(uploads, b"", text) == (400, "query")
        assert refusal(uploads, b"", 0, total=text) == (400, "query")


def test_a_context_is_shared_only_when_it_is_complete_and_what_was_hashed(uploads: Uploads) -> None:
    for number in ("7", "8"):
        with pytest.raises(HttpError, match="is not here, or not complete"):
            uploads.share(number)
        put(uploads, CHUNKS[0], 0)
    assert refusal(uploads, CHUNKS[1], len(CHUNKS[0])) == (422, "context-hash")
    assert refusal(uploads, b"", TOTAL, sha256="no digest") == (422, "context-hash")
    assert refusal(uploads, b"", TOTAL, sha256=whole(b"another")) == (422, "context-hash")
    with pytest.raises(HttpError, match="is not here, or not complete"):
        uploads.share("7")  # it was dropped
    complete(uploads)
    uploads.drop("7")
    uploads.drop("7")
    with pytest.raises(HttpError, match="is not here, or not complete"):
        uploads.share("7")


def test_there_are_so_many_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 2 * MAX_UPLOADS < container.OPEN_FILES
    monkeypatch.setattr(module, "MAX_UPLOADS", 3)
    uploads = Uploads(1000)
    for number in range(3):
        put(uploads, b"x", 0, number=str(number))
    assert refusal(uploads, b"x", 0, number="3") == (429, "uploads")
    uploads.drop("1")
    put(uploads, b"x", 0, number="3")
    uploads.clear()


def test_there_are_fewer_where_there_are_few_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, most in ((1 << 20, MAX_UPLOADS), (module._OTHERS + 7, 7), (10, 1)):
        monkeypatch.setattr(module.resource, "getrlimit", lambda _, soft=soft: (soft, soft))
        assert Uploads(1000)._most == most


def test_where_there_is_no_memory_the_host_is_told(uploads: Uploads) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, before[1]))  # a memfd obeys it as a full sandbox does
    try:
        assert refusal(uploads, CHUNKS[0], 0) == (507, "context-memory")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    complete(uploads)  # what was written of it is written over
    fd = uploads.share("7")
    assert os.pread(fd, 100, 0) == b"".join(CHUNKS) + bytes(4)
    os.close(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        module._write(-1, 0, b"x")


def test_where_there_is_no_descriptor_the_host_is_told(uploads: Uploads) -> None:
    complete(uploads)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        assert refusal(uploads, b"x", 0, number="8") == (507, "context-memory")
        with pytest.raises(HttpError) as refused:
            uploads.share("7")
        assert (refused.value.status, refused.value.rule) == (507, "context-memory")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    os.close(uploads.share("7"))
    put(uploads, b"x", 0, number="8")


def test_what_is_no_lack_of_room_is_not_told_as_one(uploads: Uploads, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> int:
        raise PermissionError(1, "")

    monkeypatch.setattr(module.os, "memfd_create", refused)
    with pytest.raises(PermissionError):
        put(uploads, b"x", 0)
