"""Writes the report: `python -m tests.evidence [--quick] [--only NAME] [--skip NAME] [--output FOLDER]`.

The sections run one after the other, so that none disturbs the figures of another. The paths of both files are printed
on stdout. The exit code is 0 where every section that was asked for ran and found nothing, 1 where one did not, 2 for
bad usage, and 130 after Ctrl-C, which writes no file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import rlm_secure
from rlm_secure.inert import inert
from rlm_secure.removal import Scratch
from tests import signals
from tests.evidence import page
from tests.evidence.machine import commit
from tests.evidence.run import ROOT, Command, Output, run
from tests.evidence.sections import NAMES, SECTIONS, Choice, Content, Section, chosen

SCHEMA = 1
#: What makes the exit code 1.
BAD = ("found", "not run")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.evidence", description="One dated report, as HTML and JSON.",
        epilog="sections: " + ", ".join(NAMES),
    )  # fmt: skip
    named: dict[str, Any] = {"action": "append", "default": [], "choices": NAMES, "metavar": "NAME"}
    place = ROOT / "build" / "evidence"
    parser.add_argument("--output", type=Path, default=place, metavar="FOLDER", help="default: build/evidence")
    parser.add_argument("--only", **named, help="this section; may be repeated")
    parser.add_argument("--skip", **named, help="not this section; may be repeated")
    parser.add_argument("--quick", action="store_true", help="samples, in some minutes: to see that everything runs")
    parser.add_argument("--seed", type=int, default=1, help="of fuzzers, crawler and mutants (default: 1)")
    parser.add_argument("--fuzz-seconds", type=float, default=30.0, metavar="N", help="for each fuzzer (default: 30)")
    parser.add_argument("--mutants", type=int, default=0, metavar="N", help="of each file (default: 0, which is all)")
    parser.add_argument("--patience", type=float, default=1.0, metavar="FACTOR", help="multiplies the bounds of time")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask every section, then write both files."""
    signals.reset()
    parser = _parser()
    options = parser.parse_args(arguments)
    sections = chosen(options.only, options.skip)
    if not sections:
        parser.error("no section is left")
    if options.patience <= 0:
        parser.error("--patience must be above 0")
    choice = Choice(options.quick, options.seed, options.fuzz_seconds, options.mutants, options.patience)
    try:
        report = _report(sections, choice)
        html, document = _write(report, options.output)
    except KeyboardInterrupt:
        print("interrupted: no report was written", file=sys.stderr)
        return 130
    print(html, document, sep="\n")
    return int(report["exit_code"])


def _report(sections: Sequence[Section], choice: Choice) -> dict[str, Any]:
    started, begun = datetime.now(UTC), time.monotonic()
    tree = commit()  # now: what runs writes below build/
    done: list[dict[str, Any]] = []
    outputs: dict[Command, tuple[str, Output]] = {}
    with Scratch(prefix="rlm-secure-evidence") as scratch:
        for section in SECTIONS:
            if section not in sections:
                done.append(_value(section, "left out", "--only or --skip left it out", None, Content()))
                continue
            command = section.command(choice)
            if command not in outputs:
                place = f"{sections.index(section) + 1} of {len(sections)}, {section.name}"
                outputs[command] = (section.name, run(command, scratch, partial(_tick, place)))
            done.append(_read(section, *outputs[command]))
            _say(section.name, done[-1])
    return {
        "schema": SCHEMA,
        "tool": {"name": "rlm-secure", "version": rlm_secure.__version__},
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - begun, 1),
        "quick": choice.quick,
        "seed": choice.seed,
        "exit_code": int(any(each["status"] in BAD for each in done)),
        "commit": tree,
        "sections": done,
    }


def _read(section: Section, of: str, output: Output) -> dict[str, Any]:
    told = {
        "of": of,
        "command": list(output.command.words),
        "variables": dict(output.command.variables),
        "exit_code": output.code,
        "seconds": round(output.seconds, 1),
        "bound_seconds": output.command.bound,
        "ended_at_bound": output.late,
    }
    if output.trouble:
        return _value(section, "not run", output.trouble, told, Content())
    try:
        content = section.read(output)
    except Exception as error:  # whatever it printed: it is no answer
        problem = f"what it printed cannot be read: {type(error).__name__}: {error}; {output.stderr.strip()[-1000:]}"
        return _value(section, "not run", problem, told, Content())
    return _value(section, "found" if content.found else "passed", content.found, told, content)


def _value(
    section: Section, status: str, problem: str, told: dict[str, Any] | None, content: Content
) -> dict[str, Any]:
    return {
        "name": section.name,
        "title": section.title,
        "about": section.about,
        "status": status,
        "problem": inert(problem),
        "run": told,
        "facts": content.facts,
        "tables": [{"title": each.title, "columns": list(each.columns), "rows": each.rows} for each in content.tables],
        "document": content.document,
    }


def _write(report: dict[str, Any], folder: Path) -> tuple[Path, Path]:
    """Both files, whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"evidence-{report['started'][:19].replace('-', '').replace(':', '')}Z"
    document = json.dumps(report, indent=1, ensure_ascii=True) + "\n"
    texts = {f"{stem}.html": page.render(report), f"{stem}.json": document}
    halves: dict[Path, Path] = {}
    try:
        for name, text in texts.items():
            half = folder / f".{name}.{os.getpid()}"
            halves[half] = folder / name
            half.write_text(text, encoding="utf-8")
        for half, path in halves.items():
            half.replace(path)
    finally:
        for half in halves:
            half.unlink(missing_ok=True)
    shown, kept = halves.values()
    return shown, kept


def _tick(place: str, seconds: float) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{place}: {seconds:.0f} s", end="", file=sys.stderr, flush=True)


def _say(name: str, section: dict[str, Any]) -> None:
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""
    why = f": {section['problem'].splitlines()[0][:200]}" if section["problem"] else ""
    took = f"{section['run']['seconds']:6.0f} s"
    print(f"{clear}{took}  {name:<11} {section['status']}{why}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
