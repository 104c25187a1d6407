"""The display: every method of upstream's printer, and nothing untrusted that acts on a terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from rlm_secure.errors import CellTimeout
from rlm_secure.logger import VerbosePrinter
from rlm_secure.types import (
    CodeBlock,
    ModelUsageSummary,
    REPLResult,
    RLMChatCompletion,
    RLMIteration,
    RLMMetadata,
    UsageSummary,
)

NASTY = "\x1b]0;owned\x07\x1b[2J\u202e[bold red]markup[/] :smile: \x9b1m\ud800"
SHOWN = "\\x1b]0;owned\\a\\x1b[2J\\u202e[bold red]markup[/] :smile: \\x9b1m\\ud800"


@pytest.fixture
def screen() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def printer(screen: io.StringIO) -> VerbosePrinter:
    return VerbosePrinter(console=Console(file=screen, width=200, color_system=None, force_terminal=False))


def everything(printer: VerbosePrinter, text: str) -> None:
    """Every method, with `text` wherever text goes."""
    usage = UsageSummary({text: ModelUsageSummary(3, 1200, 34, 0.5)})
    call = RLMChatCompletion(text, text, text, usage, 0.5, {"iterations": [{}, {}]})
    result = REPLResult(text, text, {text: text}, 1.5, [call], text, error=CellTimeout(text))
    iteration = RLMIteration([], text, [CodeBlock(text, result)], text, 2.5)
    printer.print_header(text, text, text, 30, 1, [text])
    printer.print_metadata(RLMMetadata(text, 1, 30, text, {"api_key": "corp-7f3a-9b1c"}, text, {}, [text]))
    printer.print_iteration_start(1)
    printer.print_completion(text, 1.0)
    printer.print_code_execution(CodeBlock(text, result))
    printer.print_subcall(text, text, text, 0.5, {"iterations": [1]})
    printer.print_iteration(iteration, 1)
    printer.print_budget_exceeded(1.5, 1.0)
    printer.print_limit_exceeded(text, text)
    printer.print_compaction_status(100, 200, 400)
    printer.print_compaction()
    printer.print_final_answer({"answer": text})
    printer.print_summary(3, 12.5, usage)
    printer.print_summary(3, 12.5, usage.to_dict())
    printer.print_summary(3, 12.5)


def test_nothing_untrusted_acts(printer: VerbosePrinter, screen: io.StringIO) -> None:
    everything(printer, NASTY)
    printed = screen.getvalue()
    assert SHOWN in printed
    assert not {character for character in printed if not character.isprintable()} - {"\n"}


def test_what_a_run_took(printer: VerbosePrinter, screen: io.StringIO) -> None:
    everything(printer, "x")
    printed = screen.getvalue()
    for fact in ("at most 30", "1,200 read, 34 written", "$0.500000", "2.5 s", "child x, 2 turns", "50% of the 200"):
        assert fact in printed


def test_secrets_are_masked_once_they_are_known(printer: VerbosePrinter, screen: io.StringIO) -> None:
    printer.print_metadata(RLMMetadata("m", 1, 30, "openai", {"api_key": "corp-7f3a-9b1c"}, "local", {}))
    printer.print_completion("the key is corp-7f3a-9b1c")
    printer.print_final_answer("Bearer " + "0123456789abcdef0123")
    assert "corp-7f3a" not in screen.getvalue()
    assert "0123456789abcdef" not in screen.getvalue()


def test_no_half_of_a_secret_stands_where_a_text_is_cut(printer: VerbosePrinter, screen: io.StringIO) -> None:
    secret = "correct-horse-battery-staple"
    facts = RLMMetadata("m", 1, 3, "openai", {"api_key": secret}, "local", {})
    printer.print_metadata(facts)
    for place in (4_000, 400):
        text = "x " * (place // 2 - 10) + secret
        printer.print_completion(text)
        printer.print_subcall("m", text, text)
    assert "correct" not in screen.getvalue()


def test_long_text_is_cut(printer: VerbosePrinter, screen: io.StringIO) -> None:
    printer.print_completion("x" * 1_000_000)
    assert len(screen.getvalue()) < 10_000
    assert "[996000 chars...]" in screen.getvalue()


def test_a_printer_that_is_off_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    everything(VerbosePrinter(enabled=False), "x")
    assert capsys.readouterr() == ("", "")


def test_by_default_it_speaks_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    VerbosePrinter().print_final_answer("42")
    out, err = capsys.readouterr()
    assert out == ""
    assert "42" in err
