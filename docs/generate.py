"""What the site has beside the pages in docs/pages: a hook of mkdocs that makes pages from the program and documents.

Help, rules, keys and the reference are taken from the program whenever the site is built, so that they say what it
does; the threat model and its like stay where people of the repository look for them, and are shown here as well. A
link that leaves docs/pages leads to the page that shows the file, or to the file in the repository; one to nowhere
stops the build.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PAGES = "docs/pages"
REPOSITORY = "https://github.com/rlm-secure/rlm-secure"

#: Documents of the repository, and the pages that show them.
DOCUMENTS = {
    "examples/README.md": "start/examples.md",
    "threat-model.md": "trust/threat-model.md",
    ".github/SECURITY.md": "trust/security.md",
    "ARCHITECTURE.md": "trust/architecture.md",
    "CHANGELOG.md": "trust/changelog.md",
    "CONTRIBUTING.md": "trust/contributing.md",
    "benchmarks/GOALS.md": "trust/goals.md",
    "benchmarks/RESULTS.md": "trust/measured.md",
    "rlm_secure/broker/PROTOCOL.md": "trust/protocol.md",
    "sandboxes/CLOUDS.md": "environments/clouds.md",
}
#: Parts of the reference: a title, and the modules whose public names it has.
REFERENCE = (
    ("Sandbox, RLM, policies", "rlm_secure"),
    ("Agents", "rlm_secure.agents"),
    ("Tools", "rlm_secure.tools"),
    ("Models", "rlm_secure.clients"),
    ("Logs", "rlm_secure.logger"),
    ("Audit", "rlm_secure.audit"),
    ("Tests and audits", "rlm_secure.testing"),
    ("Environments", "rlm_secure.environments"),
)
#: What is read from left to right: fenced code and code in a line, which stay as they are, or a link.
_LINK = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,}|~{3,}).*?^(?P=indent)(?P=fence)`*~*$"
    r"|(?P<before>!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()(?P<target>[^)\s]+)(?P<after>(?:\s+\"[^\"]*\")?\))"
    r"|`+[^`\n]+`+",
    re.MULTILINE | re.DOTALL,
)
#: What is said to tests/docs of the block below it.
_TEST = re.compile(r"^ *<!-- test\n.*?^ *-->\n", re.MULTILINE | re.DOTALL)


def generated() -> dict[str, str]:
    """Every page that is made here: its path under docs/pages, and its text."""
    shown = {page: linked((ROOT / source).read_text("utf-8"), source, page) for source, page in DOCUMENTS.items()}
    return shown | {
        "reference/cli.md": commands(),
        "reference/api.md": api(),
        "policies/keys.md": keys(),
        "audit/rules.md": rules(),
    }


def commands() -> str:
    """The help of every command, as the program prints it."""
    from rlm_secure.cli import parser as whole

    def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
        yield parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for each in dict.fromkeys(action.choices.values()):
                    yield from parsers(each)

    parts = [
        f"{'#' * max(2, len(each.prog.split()))} `{each.prog}`\n\n```text\n{each.format_help().rstrip()}\n```\n"
        for each in parsers(whole())
    ]
    return "# Command line\n\nWhat `--help` prints, of each command.\n\n" + "\n".join(parts)


def rules() -> str:
    """A page of all rules of the audit: each as `rlm-secure explain` has it."""
    from rlm_secure.audit import RULES

    kinds: dict[str, list[Any]] = {}
    for rule in sorted(RULES, key=lambda each: (each.kind.value, each.id)):
        kinds.setdefault(rule.kind.value, []).append(rule)
    text = "# Rules of the audit\n\nWhat `rlm-secure audit` looks for, and what `rlm-secure explain RULE` prints.\n\n"
    text += "| rule | in | severity | what it finds |\n| --- | --- | --- | --- |\n"
    for kind, found in kinds.items():
        for rule in found:
            finds = rule.page().summary.splitlines()[0]
            text += f"| [`{rule.id}`](#{rule.id}) | {kind} | {rule.severity} | {finds} |\n"
    for kind, found in kinds.items():
        text += f"\n## In: {kind}\n"
        for rule in found:
            page = rule.markdown().replace("\n# ", "\n").removeprefix(f"# {rule.id}\n")
            page = re.sub(r"^## (Why|What to do|Bad|Good|See)$", r"**\1**", page, flags=re.MULTILINE)
            page = re.sub(r"^- (https://\S+)$", r"- <\1>", page, flags=re.MULTILINE)
            text += f"\n### `{rule.id}` {{ #{rule.id} }}\n{page}"
    return text


def keys() -> str:
    """Every key of a policy, as the commented template has it."""
    template = (ROOT / "policies/TEMPLATE.toml").read_text("utf-8").rstrip()
    return (
        "# Every key of a policy\n\n`rlm-secure policy init policy.toml` writes this file for you to change; "
        "`rlm-secure policy schema` prints its JSON Schema for editors.\n\n"
        f"```toml\n{template}\n```\n"
    )


def api() -> str:
    """The reference: every public name, grouped by where it lives."""
    text = "# API\n\nMade from the docstrings. What these packages export is public; nothing else is.\n"
    seen: set[str] = set()
    for title, package in REFERENCE:
        module = importlib.import_module(package)
        text += f"\n## {title} {{ #{package} }}\n\n`{package}`: {(module.__doc__ or '').partition(chr(10))[0]}\n"
        for name, home in sorted(homes(module).items()):
            path = f"{home}.{name}"
            if path not in seen and not name.startswith("__"):
                seen.add(path)
                text += f"\n::: {path}\n    options:\n      heading_level: 3\n"
    return text


def homes(module: ModuleType) -> dict[str, str]:
    """Each public name of a package, and the module that defines it."""
    tree = ast.parse(inspect.getsource(module))
    imported = {
        alias.asname or alias.name: str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    found = {}
    for name in module.__all__:
        value = getattr(module, name)
        home = getattr(value, "__module__", None) if inspect.isclass(value) or inspect.isfunction(value) else None
        found[name] = home if home and home.startswith("rlm_secure") else imported.get(name, module.__name__)
    return found


def linked(text: str, source: str, page: str) -> str:
    """`text` of the file `source`, with its links made for the page `page`: to other pages, or into the repository.

    Raises ValueError for a link to a file that is not there.
    """
    pages = {document: f"{PAGES}/{shown}" for document, shown in DOCUMENTS.items()}

    def link(match: re.Match[str]) -> str:
        if match["target"] is None:
            return match[0]
        before, target, after = match["before"], match["target"], match["after"]
        path, mark, fragment = target.partition("#")
        if not path or re.match(r"\w+:", path):
            return match[0]
        meant = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if meant in pages:
            meant = pages[meant]
        elif not (ROOT / meant).exists() and not is_generated(meant):
            raise ValueError(f"{source} links to {target}, and there is no {meant}; correct the link")
        if meant.startswith(f"{PAGES}/"):
            there = posixpath.relpath(meant, posixpath.dirname(f"{PAGES}/{page}"))
        elif before.startswith("!"):
            meant = f"{PAGES}/images/{posixpath.basename(meant)}"
            there = posixpath.relpath(meant, posixpath.dirname(f"{PAGES}/{page}"))
        else:
            there = f"{REPOSITORY}/{'tree' if (ROOT / meant).is_dir() else 'blob'}/main/{meant}"
        return f"{before}{there}{mark}{fragment}{after}"

    return _LINK.sub(link, text)


def is_generated(path: str) -> bool:
    """Whether a path of the repository is a page that is made here."""
    shown = {*DOCUMENTS.values(), "reference/cli.md", "reference/api.md", "policies/keys.md", "audit/rules.md"}
    return path.removeprefix(f"{PAGES}/") in shown


def pictures() -> Iterator[Path]:
    """What documents of the repository show: the plots of what was measured."""
    yield from sorted((ROOT / "benchmarks/results").glob("*.svg"))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    for picture in pictures():
        files.append(File.generated(config, f"images/{picture.name}", content=picture.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links that leave docs/pages lead into the repository, and leave out what is said to the tests."""
    path = page.file.src_uri
    if is_generated(path):
        return markdown
    return _TEST.sub("", linked(markdown, f"{PAGES}/{path}", path))
