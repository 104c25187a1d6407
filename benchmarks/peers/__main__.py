"""`make bench-peers`, or `python -m benchmarks.peers [--peers A,B] [--rows A,B] [--rounds N] [--output FOLDER]`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers import driver, report
from benchmarks.peers.build import CannotBuild, Place, Recipe, build, folder, here, recipes
from benchmarks.peers.probes import PROBES

SMOKE_PROBES, SMOKE_SNIPPETS = ("open", "memory-text", "write-result"), 2

_EPILOG = """\
All of it takes about half an hour on an idle machine. Progress goes to standard error. Ctrl-C ends every process and
leaves no environment half made.
Environments are kept in $PEERS, or ~/.cache/rlm-secure-peers; remove that folder to make them anew.
PEERS_DEBUG=1 shows what the host processes write to standard error.
Exits 0 when the page was written, 1 when ours has a row without figures, 2 for wrong words, 130 when it was stopped.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, check, and write the page."""
    known = recipes()
    chosen = _parsed(arguments, known)
    if chosen is None:
        return 2
    if chosen.render:
        print(report.write(report.read(chosen.output), chosen.output))
        return 0
    before = signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        results = measure({name: known[name] for name in chosen.peers}, chosen.rows, chosen.rounds, smoke=chosen.smoke)
    except KeyboardInterrupt:
        say("stopped; nothing was written")
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
    print(report.write(results, chosen.output))
    return 0 if _complete(results) else 1


def measure(chosen: Mapping[str, Recipe], rows: Sequence[str], rounds: int | None, *, smoke: bool) -> report.Results:
    """All results of these peers and rows. A peer that does not run here has a reason instead."""
    results = report.new(chosen)
    results["smoke"] = smoke
    results["load"] = load()
    places = _places(chosen, results, smoke=smoke)
    with driver.taking_turns(places, say, once=smoke) as turns:
        for name, versions in turns.versions().items():
            results["peers"][name]["versions"] = versions
        for name in rows:
            if (row := driver.ROWS.get(name)) is not None:
                results["rows"][name] = driver.as_plain(turns.row(row, 1 if smoke else rounds or row.rounds))
    if "containment" in rows:
        probes = [each for each in PROBES if each.name in SMOKE_PROBES] if smoke else PROBES
        checked, results["idle"] = driver.contain(places, Place(Path(sys.executable)), say, probes)
        results["checks"]["containment"] = driver.as_plain(checked)
    if "compatibility" in rows:
        snippets = driver.SNIPPETS[:SMOKE_SNIPPETS] if smoke else driver.SNIPPETS
        results["checks"]["compatibility"] = driver.as_plain(driver.compatible(places, say, snippets))
    return results


def load() -> str:
    """What else the machine does, if that is much."""
    busy = os.getloadavg()[0]
    return f"Other programs kept {busy:.1f} processors busy when it began." if busy > 0.5 else ""


def say(line: str) -> None:
    """Tell the user what happens."""
    print(f"bench-peers: {line}", file=sys.stderr, flush=True)


def _places(chosen: Mapping[str, Recipe], results: report.Results, *, smoke: bool) -> dict[str, Place]:
    """Where each peer runs; the others have their reason in the results."""
    found = {}
    for name, recipe in chosen.items():
        if smoke:
            if (place := here(recipe)) is not None:
                found[name] = place
            else:
                results["peers"][name]["reason"] = "it is not in the environment of this program"
            continue
        say(f"environment of {name}")
        try:
            found[name] = build(recipe, folder())
        except (CannotBuild, OSError) as error:
            results["peers"][name]["reason"] = f"it cannot be installed here: {error}"
            say(f"{name}: {error}")
    return found


def _complete(results: report.Results) -> bool:
    """Whether ours has a figure in each row."""
    rows = [row[report.OURS] for row in results["rows"].values() if report.OURS in row]
    checks = [each[report.OURS] for each in results["checks"].values() if report.OURS in each]
    return all(row["samples"] and not row["reason"] for row in rows) and not any(each["reason"] for each in checks)


def _parsed(arguments: Sequence[str] | None, known: Mapping[str, Recipe]) -> Any:
    everything = (*driver.ROWS, *driver.CHECKS)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description="The same work in ours and in other sandboxes, in turns; writes RESULTS.md.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--peers", metavar="A,B", help=f"which ones (default: all): {', '.join(known)}")
    parser.add_argument("--rows", metavar="A,B", help=f"which work (default: all): {', '.join(everything)}")
    parser.add_argument("--rounds", type=int, metavar="N", help="turns of each peer in a row (default: the row's own)")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="where RESULTS.md goes (default: benchmarks)")
    smoke = "each case once, for peers that are installed beside this program; writes to a temporary folder"
    parser.add_argument("--smoke", action="store_true", help=smoke)
    parser.add_argument("--render", action="store_true", help="only write the page again, from results/results.json")
    chosen = parser.parse_args(arguments)
    for option, all_of_them in (("peers", known), ("rows", everything)):
        named = tuple(all_of_them) if getattr(chosen, option) is None else tuple(getattr(chosen, option).split(","))
        for each in named:
            if each not in all_of_them:
                print(f"there is no {each!r} among the {option}: {', '.join(all_of_them)}", file=sys.stderr)
                return None
        setattr(chosen, option, [each for each in all_of_them if each in named])
    if chosen.rounds is not None and chosen.rounds < 1:
        print("--rounds is at least 1", file=sys.stderr)
        return None
    if chosen.output is None:
        chosen.output = Path(tempfile.mkdtemp(prefix="bench-peers-")) if chosen.smoke else report.PAGE.parent
    return chosen


def _as_interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
