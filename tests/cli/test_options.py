"""Arguments that cannot work are refused before anything runs."""

from __future__ import annotations

import argparse

import pytest

from rlm_secure.cli import main, options


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("timeout=30", ("timeout", 30)),
        ("sampling_args={\"temperature\": 0}", ("sampling_args", {"temperature": 0})),
        ("organization=acme", ("organization", "acme")),
        ("note=a=b", ("note", "a=b")),
    ],
)  # fmt: skip
def test_backend_arguments_are_json_or_text(text: str, value: object) -> None:
    assert options.backend_argument(text) == value


@pytest.mark.parametrize("text", ["api_key=sk-1", "API_KEY=x", "auth_token=x", "password=x", "client_secret=x"])
def test_a_secret_is_no_argument(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="may not be an argument") as caught:
        options.backend_argument(text)
    assert text.split("=")[1] not in str(caught.value).split()


@pytest.mark.parametrize("text", ["novalue", "=x", "a b=c", "1=2"])
def test_a_backend_argument_needs_a_name(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not KEY=VALUE"):
        options.backend_argument(text)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon"])
def test_seconds_are_positive(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="positive number of seconds"):
        options.seconds(text)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing"],
        ["exec"],
        ["exec", "file.py", "-c", "1"],
        ["exec", "-c", "1", "--timeout", "0"],
        ["run"],
        ["run", "q", "--max-iterations", "0"],
        ["run", "q", "--backend-arg", "api_key=1"],
        ["run", "q", "--mod", "abbreviated"],
        ["doctor", "--polcy", "strict"],
    ],
)
def test_bad_usage_exits_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "error:" in captured.err


def test_no_command_shows_help_and_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: rlm-secure COMMAND" in captured.err
