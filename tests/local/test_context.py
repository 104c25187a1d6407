"""Contexts arrive as they were, whatever is in them, and are shared without a copy."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import pickle
import resource
import sys
from types import SimpleNamespace

import pytest

from rlm_secure import Policy, Refused, Sandbox
from rlm_secure.environments import context
from rlm_secure.environments.context import Flat, flatten, share, size_of
from rlm_secure.errors import CellMemoryLimit
from rlm_secure.policy import Gate, load_policy
from tests.local.kernels import in_child

TEXTS = {
    "empty": "",
    "one": "x",
    "ascii": "plain text\n" * 1000,
    "crlf": "a\r\nb\rc\n\n\r",
    "nul": "a\0b\0",
    "latin-1": "caf\xe9 \xff\x80" * 10,
    "bmp": "\u0100\u20ac\u4e2d" * 10,
    "astral": "\U0001f600 emoji \U0010ffff",
    "lone surrogates": "\ud800 \udfff \udbff\u0041",
    "a pair as two characters": "\ud83d" + "\ude00",
    "surrogates beside astral": "\ud83d\ude00 \U0001f600",
    "quotes": "'''\"\"\"\\ {braces} %s",
    "terminal": "\x1b]0;title\x07\x1b[31m\x9b\u202e",
}

#: What a cell prints about `context`, and what the host computes about its own.
DESCRIBE = "print(len(context), [ord(c) for c in context[:300]], hash_of(context))"
HASH = """
def hash_of(text):
    total = 7
    for character in text:
        total = (total * 31 + ord(character)) % (2 ** 61 - 1)
    return total
"""


def describe(text):
    space = {}
    exec(HASH, space)
    return f"{len(text)} {[ord(c) for c in text[:300]]} {space['hash_of'](text)}\n"


@pytest.fixture(params=["in place", "utf-32"])
def way(request, monkeypatch):
    """Both ways to write a str: as it lies in memory, and where this interpreter's str looks different."""
    if request.param == "utf-32":
        monkeypatch.setattr(context, "_readable", lambda: False)


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_arrives_character_by_character(name, way):
    with Sandbox(context=TEXTS[name]) as box:
        assert box.run(HASH + DESCRIBE).stdout == describe(TEXTS[name])


@pytest.mark.parametrize("payload", [*TEXTS.values(), {"a": ["\u20ac", 1]}])
def test_the_bytes_of_a_context_are_shared_as_the_context_is(payload, way):
    gate = Gate(load_policy("strict"))
    flat = flatten(payload, gate)
    made, expected = share(Flat(flat.kind, memoryview(bytes(flat.view)), flat.width, flat.length), gate), share(payload, gate)
    assert (made.kind, made.length, made.size) == (expected.kind, expected.length, expected.size)
    with open(made.fd, "rb", closefd=False) as one, open(expected.fd, "rb", closefd=False) as other:
        assert one.seek(0) == other.seek(0)
        assert one.read() == other.read()


def test_bytes_of_a_context_are_within_its_limit_and_a_descriptor_stays_in_its_process():
    policy = load_policy({"extends": "strict", "limits": {"context_bytes": 4}})
    with pytest.raises(Refused, match="context_bytes"):
        share(flatten("12345", Gate(load_policy("strict"))), Gate(policy))
    with pytest.raises(TypeError, match="a SharedContext cannot be pickled: .* send the context"):
        pickle.dumps(share("1234", Gate(policy)))


def test_a_hundred_megabytes_arrive():
    text = "".join(chr(97 + i % 26) for i in range(1000)) * 100_000
    with Sandbox(context=text) as box:
        result = box.run("print(len(context), context[:5], context[-5:], context.count('xyz'), context == context_0)")
        assert result.stdout == f"{len(text)} {text[:5]} {text[-5:]} {text.count('xyz')} True\n"


def test_a_context_may_be_larger_than_the_memory_of_a_session():
    policy = load_policy("strict")
    policy = policy.model_copy(update={"limits": policy.limits.model_copy(update={"memory_bytes": 64 << 20})})
    text = "0123456789" * 30_000_000
    with Sandbox(policy=policy, context=text) as box:
        assert box.run("print(len(context), context[299_999_990:])").stdout == "300000000 0123456789\n"


class Text(str):
    """A str as templates and arrays have them."""


class Longer(Text):
    def __len__(self) -> int:
        return 1000


@pytest.mark.parametrize("kind", [Text, Longer])
@pytest.mark.parametrize("letter", ["a", "\xe9", "\u0100", "\U0001f600"])
def test_a_text_of_a_subclass_is_read_from_no_memory_that_was_freed(kind, letter, way):
    flat = flatten(kind(letter * 96), Gate(load_policy("strict")))
    others = [f"{number:02d}" + "\U0001f680" * 94 for number in range(50)] + [f"{n:02d}" + "z" * 94 for n in range(50)]
    gc.collect()
    assert bytes(flat.view).decode({1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[flat.width]) == letter * 96
    assert flat.length == 96 and len(set(others)) == 100
    with Sandbox(context=kind(letter * 96)) as box:
        assert box.run("context").value == letter * 96


def test_memory_of_a_text_that_nobody_holds_is_given_to_others():
    copy = str.__str__(Text("a" * 96))
    buffer = (ctypes.c_char * 96).from_address(id(copy) + context._header(True, 1))
    assert buffer.raw == b"a" * 96
    del copy
    others = [f"{number:02d}" + "z" * 94 for number in range(1000)]
    assert buffer.raw != b"a" * 96 and len(others) == 1000


def test_a_list_that_a_session_has_no_memory_for_is_an_error_that_names_the_limit():
    policy = {"extends": "standard", "limits": {"memory_bytes": 80 << 20, "context_bytes": 400 << 20}}
    large = ["x" * 1000] * 160_000
    with pytest.raises(CellMemoryLimit, match=r"limits\.memory_bytes"):
        Sandbox(policy=policy, context=large)
    with Sandbox(policy=policy) as box:
        box.run("old = 1").check()
        for use in (lambda: box.set(new=large), lambda: box.files.update(large=bytes(100_000_000))):
            with pytest.raises(CellMemoryLimit, match=r"limits\.memory_bytes"):
                use()
            result = box.run("old")
            assert (result.value, "resumed" in result.stderr) == (1, False)


@pytest.mark.parametrize(
    "payload",
    [
        [f"line {i}\r\n\ud800" for i in range(10_000)],
        {"a": [1, 2.5, None, True], "b": {"nested": ["x" * 1000] * 100}, "\u20ac": "\U0001f600"},
        [{"role": "user", "content": "hi"}],
        [],
        {},
        [1, 2, 3],
    ],
)
def test_lists_and_dicts_arrive(payload):
    with Sandbox(policy="standard", context=payload) as box:
        box.run("import json\nanswer['content'] = json.dumps(context)\nanswer['ready'] = True")
        assert json.loads(box.run("1").final_answer) == payload


def test_what_is_not_json_is_refused_in_one_sentence():
    with pytest.raises(TypeError, match="a context is a str, or a list or dict of JSON values"):
        Sandbox(context={"a": object()})
    with pytest.raises(TypeError, match="a context is a str"):
        Sandbox(context=b"bytes")


def test_a_context_over_the_limit_is_refused():
    policy = load_policy("strict")
    policy = policy.model_copy(update={"limits": policy.limits.model_copy(update={"context_bytes": 100})})
    with pytest.raises(Refused, match=r"limits\.context_bytes = 100"):
        Sandbox(policy=policy, context="x" * 101)


def test_a_context_that_nobody_refers_to_any_more_gives_its_pages_back():
    text = "lorem ipsum\n" * 8_000_000
    shared = share(text, Gate(load_policy("strict")))
    with Sandbox() as box:
        session = box._repl.session
        for _ in range(400):  # a session has addresses for about half of them at a time
            session.load_context("context", shared)
        assert box.run("print(len(context), context[-6:-1])").stdout == f"{len(text)} ipsum\n"


@pytest.mark.parametrize(
    ("hold", "look"),
    [
        ("kept = context", "kept"),
        ("kept = [context]", "kept[0]"),
        ("kept = {context: 1}", "next(iter(kept))"),
        ("def kept(x=context): return x", "kept()"),
        ("import re\nkept = re.match('a', context)", "kept.string"),
        ("kept = iter(context)", "''.join(kept)"),
        ("class A: pass\nkept = A()\nsetattr(kept, context, 'abc' * 100_000)", "getattr(kept, 'abc' * 100_000)"),
    ],
)
def test_a_context_that_something_refers_to_stays(hold, look):
    with Sandbox(context="abc" * 100_000) as box:
        box.run(hold).check()
        for _ in range(3):
            box._repl.add_context("d" * 300_000, 0)
        assert box.run("print(context == 'd' * 300_000)").stdout == "True\n"
        assert box.run(f"print({look} == 'abc' * 100_000)").stdout == "True\n"
        box.run("del kept").check()
        box._repl.add_context("e" * 300_000, 0)
        # A name that was interned while it was a context is still found, and is no dangling pointer.
        again = "class B: pass\nb = B()\nsetattr(b, 'abc' * 100_000, 1)\nprint(getattr(b, 'abc' * 100_000), context[:2])"
        assert box.run(again).stdout == "1 ee\n"


def test_sessions_share_a_sealed_context():
    shared = share("shared " * 1_000_000, Gate(load_policy("strict")))
    with Sandbox() as first, Sandbox() as second:
        for box in (first, second):
            box._repl.session.load_context("context", shared)
            assert box.run("print(len(context))").stdout == "7000000\n"
    shared.close()


def test_a_cell_cannot_change_the_context_for_others():
    shared = share("abc" * 1000, Gate(load_policy("strict")))
    with Sandbox() as first, Sandbox() as second:
        for box in (first, second):
            box._repl.session.load_context("context", shared)
        first.run("context = 'changed'\ncontext_0 = 1")
        assert second.run("print(context[:3])").stdout == "abc\n"
        assert first.run("print(context[:3])").stdout == "abc\n"


def test_strings_of_this_interpreter_are_read_in_place():
    assert context._readable()
    with Sandbox() as box:
        assert box.report.details["zero_copy_context"] is True


def test_a_context_that_does_not_fit_leaves_no_descriptor():
    def body():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        before = os.listdir("/proc/self/fd")
        try:
            share("x" * 10_000, Gate(load_policy("strict")))
        except OSError as error:
            return error.errno, os.listdir("/proc/self/fd") == before

    assert in_child(body) == f"({27}, True)"  # EFBIG


@pytest.mark.parametrize(
    ("what", "other"),
    [
        ("sys", SimpleNamespace(implementation=SimpleNamespace(name="another"), getsizeof=sys.getsizeof)),
        ("_STATE_OFFSET", 24),  # where the hash is
        ("_header", lambda ascii_only, width: sys.getsizeof("") + 8),
    ],
)
def test_an_interpreter_whose_text_looks_otherwise_is_noticed(monkeypatch, what, other):
    monkeypatch.setattr(context, what, other)
    assert context._readable.__wrapped__() is False


def test_the_size_of_a_context_is_that_of_its_bytes() -> None:
    for payload in ("plain", "caf\xe9", "\u20ac" * 5, {"a": [1, None, "\xe9"]}, [[], {}]):
        shared = share(payload, Gate(Policy()))
        assert size_of(payload) == shared.size
        shared.close()
    loop: list[object] = []
    loop.append(loop)
    for none in (b"bytes", {"a": {1}}, loop):
        assert size_of(none) == 0
