"""Secrets do not reach what is written down: by name, by look, and by value once they are known."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.errors import PolicyError
from rlm_secure.logger.redact import MASK, Redactor
from rlm_secure.policy import load_policy
from tests.growth.cost import assert_linear

# Put together here, so that no scanner takes this file for a leak.
LOOKS_LIKE_A_SECRET = [
    "sk-" + "proj-Ab3dEf6hIj9lMn2pQr5tUv8x",
    "sk-" + "ant-api03-Ab3dEf6hIj9lMn2pQr5tUv8x_-",
    "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc",
    "gh" + "p_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_" + "pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
    "AK" + "IAIOSFODNN7EXAMPLE",
    "AI" + "zaSyA1234567890abcdefghijklmnopqrstuv",
    "xox" + "b-123456789012-abcdefghijkl",
    "hf" + "_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "e2b" + "_0123456789abcdef0123456789abcdef01234567",
    "dtn" + "_0123456789abcdef0123456789abcdef01234567",
    "ak" + "-AbCdEfGh1jKlMnOpQrStUv",
    "Bearer " + "abcdefghij0123456789",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
]

INNOCENT = [
    "sk-learn-is-not-a-key-but-a-library",
    "as-a-matter-of-fact-and-without-doubt",
    "the basic responsibilities of a bearer",
    "max_tokens=5000, total_tokens=12345",
    "https://example.org/a?page=2&sort=key",
    "commit 2aafaf7e0c1d3b5a79f1e2d3c4b5a6978",
    "the secret number is 42",
    "eyJust a word",
]


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(environ=False)


@pytest.mark.parametrize("secret", LOOKS_LIKE_A_SECRET, ids=lambda secret: secret[:6])
def test_a_known_look_is_masked_anywhere_in_text(redactor: Redactor, secret: str) -> None:
    text = redactor.text(f"here: {secret} and on")
    assert text == f"here: {MASK} and on"
    assert redactor.content({"output": [f"({secret})"]}) == {"output": [f"({MASK})"]}


@pytest.mark.parametrize("text", INNOCENT)
def test_innocent_text_stays(redactor: Redactor, text: str) -> None:
    assert redactor.text(text) == text


def test_a_key_that_was_cut_off_is_masked_to_the_end(redactor: Redactor) -> None:
    assert redactor.text("x -----BEGIN " + "PRIVATE KEY-----\nMIIE\nabc") == f"x {MASK}"


def test_passwords_in_addresses_are_masked(redactor: Redactor) -> None:
    assert redactor.text("https://me:hunter2@host/x") == f"https://{MASK}@host/x"
    assert redactor.text("https://host/x?a=1&api_key=abcdef&b=2") == f"https://host/x?a=1&{MASK}&b=2"


@pytest.mark.parametrize(
    "name",
    [
        "api_key",
        "apiKey",
        "API_KEY",
        "OPENAI_API_KEY",
        "key",
        "token",
        "accessToken",
        "Authorization",
        "X-Api-Key",
        "password",
    ]
    + ["db_passwd", "client_secret", "privateKey", "credentials", "Cookie", "auth", "dsn", "signature"],
)
def test_settings_under_a_secrets_name_are_masked(redactor: Redactor, name: str) -> None:
    assert redactor.configuration({name: "value", "n": 1}) == {name: MASK, "n": 1}
    assert redactor.configuration({"headers": [{name: {"a": ["value", None, 3]}}]}) == {
        "headers": [{name: {"a": [MASK, None, 3]}}]
    }


@pytest.mark.parametrize(
    "name", ["max_tokens", "total_tokens", "keyboard", "model_name", "base_url", "author", "monkey"]
)
def test_other_settings_stay(redactor: Redactor, name: str) -> None:
    assert redactor.configuration({name: "value"}) == {name: "value"}


def test_numbers_and_switches_are_no_secrets(redactor: Redactor) -> None:
    settings = {"token_limit": 5, "use_auth": True, "password": None, "api_key": ""}
    assert redactor.configuration(settings) == settings


def test_settings_become_strict_json_without_running_anything(redactor: Redactor) -> None:
    class Client:
        def __repr__(self) -> str:
            raise AssertionError("ran")

    assert redactor.configuration({"http_client": Client(), "x": float("nan")}) == {
        "http_client": "<Client>",
        "x": "NaN",
    }


def test_what_a_cell_computes_is_masked_only_under_names_that_mean_nothing_else(redactor: Redactor) -> None:
    variables = {"key": "a", "token": "b", "secret": "c", "tokens": ["d"], "api_key": "e", "password": "f"}
    assert redactor.content(variables) == variables | {"api_key": MASK, "password": MASK}


def test_a_secret_of_the_settings_is_masked_wherever_it_turns_up(redactor: Redactor) -> None:
    redactor.configuration({"api_key": "corp-7f3a-9b1c", "default_headers": {"Authorization": "long enough to be one"}})
    assert redactor.text("I saw corp-7f3a-9b1c!") == f"I saw {MASK}!"
    assert redactor.content({"a corp-7f3a-9b1c": ["long enough to be one"]}) == {f"a {MASK}": [MASK]}


@pytest.mark.parametrize("word", ["EMPTY", "none", "lm-studio", "not-needed", "12345678"])
def test_a_placeholder_for_a_key_is_not_hunted_for(redactor: Redactor, word: str) -> None:
    redactor.configuration({"api_key": word})
    assert redactor.text(f"the word {word}") == f"the word {word}"


def test_the_longest_secret_is_masked_whole(redactor: Redactor) -> None:
    redactor.learn(["abcd1234", "abcd1234efgh"])
    assert redactor.text("abcd1234efgh abcd1234") == f"{MASK} {MASK}"


@pytest.mark.parametrize("secret", ["Zx" + "5f" * 32, "9f" * 2_000, "abc12345"])
def test_no_part_of_a_secret_is_in_the_beginning_of_a_text(redactor: Redactor, secret: str) -> None:
    redactor.learn([secret])
    for length in (200, 700, 790, 800, 1_200, 1_300, 4_000, 4_780, 4_800):
        # A long secret before it, or many short ones, leave room for what stood at the cut.
        for text in ("sk-1" + "a" * length, f"{secret} " * (length // (len(secret) + 1)), "." * length):
            beginning = redactor.beginning(f"{text} {secret} and more {'.' * 10_000}", 800)
            assert len(beginning) <= 2 * (800 + 2 * max(512, len(secret))) and secret[:6] not in beginning
    assert redactor.beginning(f"the key is {secret}", 800) == f"the key is {MASK}"
    assert redactor.beginning("." * 100_000, 800) == "." * 800 + " ..."


def test_secrets_of_the_environment_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VENDOR_API_KEY", "vendor-a1b2c3d4")
    monkeypatch.setenv("SOME_PATH", "/usr/lib/whatever-1234")
    assert Redactor().text("vendor-a1b2c3d4 /usr/lib/whatever-1234") == f"{MASK} /usr/lib/whatever-1234"


def test_further_patterns(redactor: Redactor) -> None:
    redactor.learn(["known-secret-1"])
    extended = redactor.extended([r"EMP-\d{4}"])
    assert extended.text("EMP-1234 known-secret-1 EMP-1") == f"{MASK} {MASK} EMP-1"
    assert redactor.text("EMP-1234") == "EMP-1234"


@pytest.mark.parametrize(
    "unit",
    [
        "sk-",
        "sk-a",
        "sk-a1",
        "eyJ",
        "eyJaaaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN ",
        "://",
        "://a:",
        "://a:b",
    ]
    + ["bearer ", "bearer a", "?key=", "xoxb-", "AKIA", "ghp_", "a", "A", "1", "_", " ", "\n", ".", "-----END"],
)
def test_a_megabyte_of_anything_takes_linear_time(redactor: Redactor, unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    begin = time.process_time()
    redactor.text(text)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*b", r"a*b|a", r"ACME-\d{8}", r"\w+@\w+\.com"])
@pytest.mark.parametrize("unit", ["a", "ab", "ACME-1234567", "a@a."])
def test_a_pattern_of_ones_own_takes_linear_time(pattern: str, unit: str) -> None:
    redactor = Redactor([pattern], environ=False)
    assert_linear(lambda size: unit * (size // len(unit)) + "!", redactor.text, begin=2_000)


def test_a_text_that_takes_too_many_steps_is_masked_whole() -> None:
    redactor = Redactor([r"a*b|a"], environ=False)
    assert redactor.text("a" * 100 + "!") == MASK * 100 + "!"
    assert redactor.text("a" * 10_000 + "!") == MASK


@pytest.mark.parametrize("pattern", [r"(?<=a)b", r"(?=a)", r"(a)\1", r"a++", r"(?>a)", r"(a*)*", "("])
def test_a_pattern_that_is_not_linear_is_refused_with_the_policy(pattern: str) -> None:
    with pytest.raises(PolicyError, match=r"data\.redact\[0\]"):
        load_policy({"data": {"redact": [pattern]}})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-1000, 1000) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_keeps_its_shape(value: object) -> None:
    redactor = Redactor(environ=False)
    for copy in (redactor.configuration(value), redactor.content(value)):
        json.dumps(copy, allow_nan=False)
        assert type(copy) is type(value)
