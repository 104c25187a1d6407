"""Loading a policy: everything that can be wrong is one sentence with the file, the key, the place and what to do."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm_secure.errors import PolicyError
from rlm_secure.guarantees import Wall
from rlm_secure.policy import Policy, load_policy, problems, trace
from rlm_secure.policy.model import MODULES
from rlm_secure.resources import policy_names
from tests.effort import examples
from tests.policy.strategies import FLAT, nested


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return path


def refusal(ref: Any) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        load_policy(ref)
    return caught.value


# -- what loads ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", policy_names())
def test_every_shipped_policy_loads_under_its_own_name(name: str) -> None:
    assert load_policy(name).name == name
    assert load_policy(name) is load_policy(name)
    assert Policy.load(name) is load_policy(name)


def test_the_shipped_policies_are_four() -> None:
    assert policy_names() == ("data", "research", "standard", "strict")


def test_a_policy_may_be_a_name_a_path_a_mapping_or_a_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "mine.toml", "[limits]\ncells = 7\n")
    monkeypatch.chdir(tmp_path)
    for ref in (path, str(path), "mine.toml", "./mine.toml", {"limits": {"cells": 7}}, load_policy(path)):
        assert load_policy(ref).limits.cells == 7


def test_a_file_gives_its_name_unless_it_says_another(tmp_path: Path) -> None:
    assert load_policy(write(tmp_path / "team-a.toml", "")).name == "team-a"
    assert load_policy(write(tmp_path / "b.toml", 'name = "team-b"')).name == "team-b"
    assert load_policy(write(tmp_path / "no name.toml", "")).name == "custom"
    assert load_policy({}).name == "custom"


def test_a_file_in_the_current_folder_never_shadows_a_shipped_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "strict", "[limits]\ncells = 7\n")
    write(tmp_path / "strict.toml", "[limits]\ncells = 7\n")
    monkeypatch.chdir(tmp_path)
    assert load_policy("strict").limits.cells == 1_000
    assert load_policy("./strict.toml").limits.cells == 7


def test_what_is_not_written_is_what_strict_says() -> None:
    policy = load_policy({"limits": {"cells": 7}})
    assert policy.isolation == load_policy("strict").isolation
    assert policy.language == load_policy("strict").language


def test_values_may_be_python_objects_in_a_mapping() -> None:
    policy = load_policy(
        {
            "isolation": {"local": (Wall.SECCOMP,)},
            "language": {"modules": {"re", "json"}},
            "audit": {"ignore": [{"rule": "weak-limit", "reason": "long enough", "expires": date(2030, 1, 31)}]},
        }
    )
    assert policy.isolation.local == (Wall.SECCOMP,)
    assert policy.language.modules == ("json", "re")
    assert policy.audit.ignore[0].expires == date(2030, 1, 31)


def test_a_policy_is_frozen_and_hashable() -> None:
    policy = load_policy("strict")
    with pytest.raises(ValueError, match="frozen"):
        policy.limits.cells = 7
    assert hash(policy) == hash(load_policy({"name": "strict", "description": policy.description}))


def test_windows_line_ends_are_fine(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.toml", '# ours\r\n[limits]\r\ncells = 7\r\nstdout_bytes = "x"\r\n')
    assert str(refusal(path)).startswith(f"{path}:4:1: limits.stdout_bytes")


# -- one test per kind of mistake ------------------------------------------------------------------------

MISTAKES = {
    "a misspelt key": (
        "[limits]\n\n  cell_second = 3\n",
        (3, 3, "limits.cell_second"),
        "limits.cell_second is no key of a policy; did you mean limits.cell_seconds?",
    ),
    "a misspelt table": (
        "[limit]\ncells = 3\n",
        (1, 1, "limit"),
        "limit is no key of a policy; did you mean limits?",
    ),
    "a key of another table": (
        "[limits]\nmodules = []\n",
        (2, 1, "limits.modules"),
        "limits.modules is no key of a policy; did you mean language.modules?",
    ),
    "a key that nothing resembles": (
        "[network]\nproxy_address = 'x'\n",
        (2, 1, "network.proxy_address"),
        "network.proxy_address is no key of a policy; [network] has ingress",
    ),
    "text for a number": (
        '[limits]\ncell_seconds = "30"\n',
        (2, 1, "limits.cell_seconds"),
        'limits.cell_seconds is "30"; use a number above 0 and up to 86,400',
    ),
    "a fraction for a count": (
        "limits.cells = 1.5\n",
        (1, 1, "limits.cells"),
        "limits.cells is 1.5; use a whole number from 1 up",
    ),
    "a number for a truth value": (
        "[limits]\nexclude_host_time = 1\n",
        (2, 1, "limits.exclude_host_time"),
        "limits.exclude_host_time is 1; use true or false",
    ),
    "a truth value for a number": (
        "[limits]\nprocesses = true\n",
        (2, 1, "limits.processes"),
        "limits.processes is true; use a whole number from 0 to 0",
    ),
    "a negative limit": (
        "[limits]\ncell_seconds = -1\n",
        (2, 1, "limits.cell_seconds"),
        "limits.cell_seconds is -1; use a number above 0 and up to 86,400",
    ),
    "a limit of zero": (
        "[limits]\ncell_seconds = 0.0\n",
        (2, 1, "limits.cell_seconds"),
        "limits.cell_seconds is 0.0; use a number above 0 and up to 86,400",
    ),
    "not a number": (
        "[limits]\ncell_seconds = nan\n",
        (2, 1, "limits.cell_seconds"),
        "limits.cell_seconds is NaN; use a number above 0 and up to 86,400",
    ),
    "no limit at all": (
        "[lm]\ncost_usd = inf\n",
        (2, 1, "lm.cost_usd"),
        "lm.cost_usd is Infinity; use a number above 0 and up to 1,000,000",
    ),
    "a limit beyond all bounds": (
        "[limits]\nmemory_bytes = 99999999999999999999\n",
        (2, 1, "limits.memory_bytes"),
        "limits.memory_bytes is 99999999999999999999; use at most 9,007,199,254,740,992",
    ),
    "an array for a number": (
        "[limits]\ncells = [1]\n",
        (2, 1, "limits.cells"),
        "limits.cells is [1]; use a whole number from 1 up",
    ),
    "a value for a table": (
        "limits = 3\n",
        (1, 1, "limits"),
        "limits is 3; it is a table: write [limits] and its keys below",
    ),
    "a table for a value": (
        "[limits.cells]\nmax = 3\n",
        (1, 1, "limits.cells"),
        "limits.cells is a table; use a whole number from 1 up",
    ),
    "text for an array": (
        '[language]\nmodules = "re"\n',
        (2, 1, "language.modules"),
        'language.modules is "re"; use an array of module names',
    ),
    "a module that reaches files": (
        '[language]\nmodules = [\n    "re",\n    "shutil",\n]\n',
        (4, 5, "language.modules[1]"),
        ('language.modules[1] is "shutil", which no policy can give to cells because it reaches the host\'s files; take it '
        "out, and offer a host tool instead"),
    ),
    "a submodule that reaches the network": (
        '[language]\nmodules = ["http.client"]\n',
        (2, 12, "language.modules[0]"),
        ('language.modules[0] is "http.client", which no policy can give to cells because it reaches the network; take '
        "it out, and offer a host tool instead"),
    ),
    "a misspelt module": (
        '[language]\nmodules = ["maths"]\n',
        (2, 12, "language.modules[0]"),
        'language.modules[0] is "maths", for which there is no facade; did you mean "math"?',
    ),
    "a module without a facade": (
        '[language]\nmodules = ["tensorflow"]\n',
        (2, 12, "language.modules[0]"),
        'language.modules[0] is "tensorflow", for which there is no facade; cells may have '
        + ", ".join(MODULES),
    ),
    "a module named twice": (
        '[language]\nmodules = ["re", "re"]\n',
        (2, 1, "language.modules"),
        "language.modules names 're' twice; name it once",
    ),
    "an unknown wall": (
        '[isolation]\nlocal = ["seccmp"]\n',
        (2, 10, "isolation.local[0]"),
        'isolation.local[0] is "seccmp"; did you mean "seccomp"?',
    ),
    "an unknown environment": (
        '[isolation]\nenvironments = ["local", "nomad"]\n',
        (2, 26, "isolation.environments[1]"),
        'isolation.environments[1] is "nomad"; use one of local, docker, modal, daytona, prime, e2b, kubernetes',
    ),
    "best effort without a reason": (
        '[[isolation.best_effort]]\nwall = "landlock"\n',
        (1, 1, "isolation.best_effort[0].reason"),
        "isolation.best_effort[0] lacks the key reason; add it: a sentence of at least 8 characters that says why",
    ),
    "best effort with an empty reason": (
        '[[isolation.best_effort]]\nwall = "landlock"\nreason = ""\n',
        (3, 1, "isolation.best_effort[0].reason"),
        'isolation.best_effort[0].reason is ""; use a sentence of at least 8 characters that says why',
    ),
    "best effort named twice": (
        '[isolation]\nbest_effort = [{wall="landlock", reason="old kernel"}, {wall="landlock", reason="old kernel"}]\n',
        (2, 1, "isolation.best_effort"),
        "isolation.best_effort names 'landlock' twice; name it once",
    ),
    "an ignore without an end": (
        '[[audit.ignore]]\nrule = "weak-limit"\nreason = "a good reason"\n',
        (1, 1, "audit.ignore[0].expires"),
        "audit.ignore[0] lacks the key expires; add it: a date without quotes, such as 2030-01-31",
    ),
    "an ignore with a moment for a date": (
        '[[audit.ignore]]\nrule = "weak-limit"\nreason = "a good reason"\nexpires = 2030-01-31T12:00:00\n',
        (4, 1, "audit.ignore[0].expires"),
        'audit.ignore[0].expires is "2030-01-31T12:00:00"; use a date without quotes, such as 2030-01-31',
    ),
    "a bad pattern": (
        '[data]\nredact = ["a+", "("]\n',
        (2, 17, "data.redact[1]"),
        ('data.redact[1] is "(", which is no regular expression: missing ), unterminated subpattern at position 0; '
        "correct the pattern"),
    ),
    "a bad name": (
        'name = "my policy"\n',
        (1, 1, "name"),
        'name is "my policy"; use 1 to 64 letters, digits, dots, dashes and underscores, the first a letter or a digit',
    ),
    "a runtime that is a shell command": (
        '[isolation]\ndocker_runtime = "runc; rm"\n',
        (2, 1, "isolation.docker_runtime"),
        'isolation.docker_runtime is "runc; rm"; use the name of a container runtime, such as runc or runsc',
    ),
    "a key that would bring back open": (
        "[language]\nbuiltins = ['open']\n",
        (2, 1, "language.builtins"),
        "language.builtins is no key of a policy; [language] has modules, source_bytes, ast_nodes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_at_its_place(tmp_path: Path, mistake: str) -> None:
    text, (line, column, key), sentence = MISTAKES[mistake]
    path = write(tmp_path / "mine.toml", text)
    error = refusal(path)
    assert str(error) == f"{path}:{line}:{column}: {sentence}"
    assert (error.source, error.line, error.column, error.key) == (str(path), line, column, key)


def test_all_mistakes_are_listed_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.toml", '[lm]\ndepth = 99\n[limits]\ncells = 0\nx = 1\n[language]\nmodules = ["shutil"]\n')
    assert [(error.line, error.key) for error in problems(path)] == [
        (2, "lm.depth"),
        (4, "limits.cells"),
        (5, "limits.x"),
        (7, "language.modules[0]"),
    ]
    assert problems("strict") == ()
    assert [str(error) for error in problems("strct")] == [str(refusal("strct"))]


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        ("[limits\ncells = 1\n", 1, 8, "Expected"),
        ("[limits]\ncells 1\n", 2, 7, "Expected"),
        ("[limits]\ncells = 1\ncells = 2\n", 3, 10, "Cannot overwrite"),
        ("[limits]\n[limits]\n", 2, 8, "Cannot declare"),
        ('name = "abc\n', 1, 12, "Illegal character"),
        ("cells = ", 1, 9, "Invalid value"),
        ("limits = [", 1, 11, "Invalid value"),
        ("a\nb = 1", 1, 2, "Expected"),
    ],
)
def test_a_syntax_error_has_its_line_and_column(tmp_path: Path, text: str, line: int, column: int, reason: str) -> None:
    path = write(tmp_path / "mine.toml", text)
    error = refusal(path)
    assert str(error).startswith(f"{path}:{line}:{column}: this is not TOML: {reason[0].lower()}{reason[1:]}")
    assert "\n" not in str(error)
    assert (error.line, error.column) == (line, column)


FILES = {
    "a byte-order mark": (b"\xef\xbb\xbfname = 'x'\n", "it starts with a byte-order mark; save it as UTF-8 without one"),
    "UTF-16": ("name = 'x'".encode("utf-16"), "it starts with a byte-order mark; save it as UTF-8 without one"),
    "too large": (b"#" * 300_000, "it is larger than 262,144 bytes, which no policy is; check that it is the right file"),
}  # fmt: skip


@pytest.mark.parametrize("what", FILES)
def test_a_file_that_is_no_policy_says_why(tmp_path: Path, what: str) -> None:
    data, sentence = FILES[what]
    path = write(tmp_path / "mine.toml", data)
    assert str(refusal(path)) == f"{path}: {sentence}"


def test_a_file_that_is_not_utf8_names_the_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.toml", b"# a\n# caf\xe9\n")
    error = refusal(path)
    assert str(error) == f"{path}:2: byte 9 is not UTF-8; save the file as UTF-8"
    assert error.line == 2


def test_a_number_with_more_digits_than_python_reads_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.toml", f"limits.cells = {'9' * 5000}\n")
    assert str(refusal(path)).startswith(f"{path}: this is not a policy: Exceeds the limit")
    path = write(tmp_path / "mine.toml", f"limits.cells = 0x{'f' * 5000}\n")
    assert str(refusal(path)) == f"{path}:1:1: limits.cells is Infinity; use a whole number from 1 up"


def test_a_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path / "policy.toml", "")
    path = tmp_path / "polcy.toml"
    assert str(refusal(path)) == f"{path}: there is no such file; did you mean policy.toml?"
    assert str(refusal(tmp_path / "no" / "x.toml")).endswith("there is no such file; check the path")


def test_a_folder_a_pipe_and_a_locked_file_are_refused(tmp_path: Path) -> None:
    assert str(refusal(tmp_path)).endswith("this is a folder; name the .toml file in it")
    os.mkfifo(tmp_path / "pipe.toml")
    assert str(refusal(tmp_path / "pipe.toml")).endswith("this is not a regular file; a policy is a TOML file")
    assert str(refusal("/dev/zero")).endswith("this is not a regular file; a policy is a TOML file")
    assert str(refusal("a\x00b.toml")) == '"a\\u0000b.toml" is no path; it contains a NUL'
    assert "it cannot be read: File name too long" in str(refusal("x" * 5000 + ".toml"))


def test_an_unknown_name_suggests_a_shipped_one() -> None:
    assert str(refusal("stict")) == (
        'no policy is called "stict"; did you mean "strict", and a file is named by its path, such as ./mine.toml'
    )
    assert str(refusal("x" * 500)) == (
        f'no policy is called "{"x" * 76}...; the shipped ones are data, research, standard, strict, and a file is named by '
        "its path, such as ./mine.toml"
    )


@pytest.mark.parametrize("ref", [None, 3, 3.5, ["strict"], b"strict", object()])
def test_what_is_no_reference_is_an_error(ref: object) -> None:
    assert str(refusal(ref)) == f"a policy is a name, a path, a mapping or a Policy, not {type(ref).__name__}"


def test_a_mapping_with_what_no_policy_holds_names_the_key() -> None:
    assert str(refusal({"limits": {"cells": object()}})) == (
        "limits.cells is of the type object, which no policy key is; use a plain value"
    )
    assert refusal({"language": {"modules": ["re", b"os"]}}).key == "language.modules[1]"
    assert "limits.cells is Infinity" in str(refusal({"limits": {"cells": 1 << 9000}}))
    assert "limits.cells is null" not in str(refusal({"limits": {"cells": None}}))
    assert "no key of a policy" in str(refusal({3: 4}))
    assert "2020-01-01T00:00:00" in str(refusal({"limits": {"cells": datetime(2020, 1, 1, tzinfo=UTC)}}))


def test_a_mapping_that_contains_itself_is_an_error() -> None:
    loop: dict[str, Any] = {}
    loop["limits"] = loop
    assert "nested too deeply" in str(refusal(loop))


def test_a_long_value_is_cut_short(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.toml", f'name = "{"a b" * 1000}"\n')
    assert len(str(refusal(path))) < 400


@given(flat=FLAT)
@settings(max_examples=examples(100), deadline=None)
def test_any_valid_values_load_and_load_again(flat: dict[str, Any]) -> None:
    policy = load_policy(nested(flat))
    assert load_policy(policy.model_dump(mode="json")) == policy
    assert load_policy(policy.model_dump()) == policy


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
TABLES = ["language", "limits", "isolation", "network", "lm", "data", "audit", "name", "extends"]


@given(st.dictionaries(st.sampled_from(TABLES) | st.text(max_size=6), JSON_LIKE, max_size=3))
@settings(max_examples=examples(200), deadline=None)
def test_any_mapping_loads_or_is_a_policy_error(data: dict[str, Any]) -> None:
    try:
        load_policy(data)
    except PolicyError as error:
        assert str(error).isprintable()
        assert len(str(error)) < 1000


@given(st.binary(max_size=60) | st.text("[]{}=.\"'#\n \tabcn1_-", max_size=40).map(str.encode))
@settings(max_examples=examples(200), deadline=None)
def test_any_file_loads_or_is_a_policy_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(data)
    try:
        load_policy(path)
    except PolicyError as error:
        assert "\n" not in str(error)


# -- where values come from ------------------------------------------------------------------------------


def test_every_written_value_has_its_origin(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.toml", 'name = "mine"\nlm.depth = 2\n[limits]\n  cells = 7 # few\n')
    loaded = trace(path)
    assert {key: (origin.line, origin.column) for key, origin in loaded.origins.items()} == {
        "name": (1, 1),
        "lm.depth": (2, 1),
        "limits.cells": (4, 3),
    }
    assert {origin.source for origin in loaded.origins.values()} == {str(path)}
    assert loaded.chain == ()
    assert trace({"lm": {"depth": 2}}).origins["lm.depth"].line is None
