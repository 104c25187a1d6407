"""What an audit does with a file takes time that grows as the file does: twice the text, at most 2.3 times.

Each text is the worst that could be made for a reader or a rule. Processor time of this process, the least of several.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rlm_secure.audit import rules
from rlm_secure.audit.finding import Unreadable
from rlm_secure.audit.read import code, container, dockerfile, document, packages
from rlm_secure.audit.rule import Kind
from tests.growth.cost import assert_linear

READ: dict[Kind, Callable[[str], object]] = {
    Kind.DOCKERFILE: lambda text: dockerfile.read(f"FROM python\n{text}", "f"),
    Kind.PYTHON: lambda text: code.read(text, "f"),
    Kind.PACKAGES: lambda text: packages.requirements(text, "f"),
    Kind.CONTAINER: lambda text: container.read(container.parse(text, "f", yaml=text[0] not in "[{")),
    Kind.SECCOMP: lambda text: document.read_json(text, "f"),
}
INSPECTED = '{"Id":"0","HostConfig":{"CapAdd":['

#: The text for a size of one, and more than it to start and to end with.
WORST: dict[str, tuple[Kind, str, str, str]] = {
    "downloads without a pipe": (Kind.DOCKERFILE, "RUN ", "curl ", ""),
    "downloads and other commands": (Kind.DOCKERFILE, "RUN ", "curl;", ""),
    "pipes to no shell": (Kind.DOCKERFILE, "RUN ", "curl|", ""),
    "shells of blanks": (Kind.DOCKERFILE, "RUN ", "sh -c     ", ""),
    "blanks": (Kind.DOCKERFILE, "RUN pip install", " " * 8, "x"),
    "installers": (Kind.DOCKERFILE, "CMD ", "pip uv pip3 ", ""),
    "instructions": (Kind.DOCKERFILE, "", "RUN pip install a\n", ""),
    "stages": (Kind.DOCKERFILE, "", "FROM a as b\n", ""),
    "other stages": (Kind.DOCKERFILE, "", "FROM python:3 AS b\nUSER 0\n", ""),
    "continued lines": (Kind.DOCKERFILE, "RUN a", "\\\n#\nb", ""),
    "documents in a line": (Kind.DOCKERFILE, "RUN ", "<<a ", "\n"),
    "quoted documents": (Kind.DOCKERFILE, "RUN ", "<<'a", "\n"),
    "variables": (Kind.DOCKERFILE, "ENV ", "a_token=b ", ""),
    "a long variable": (Kind.DOCKERFILE, "ENV ", "token_aa", "!"),
    "addresses": (Kind.DOCKERFILE, "ADD ", "http://", ""),
    "letters": (Kind.DOCKERFILE, "RUN x\n", "R" * 8, "!"),
    "calls in a line": (Kind.PYTHON, "", "f(x);", ""),
    "calls in a line that is not ASCII": (Kind.PYTHON, "é=0;", "f(é);", ""),
    "a long attribute": (Kind.PYTHON, "f(", "a.aaaaaaa", ".b)"),
    "an imported name of a long module": (Kind.PYTHON, "from " + "a" * 4_000 + " import ", "a,", "a"),
    "names": (Kind.PYTHON, "", "token = 'aaaaaaaa'\n", ""),
    "underscores": (Kind.PYTHON, "", "_" * 8, "=''"),
    "imports": (Kind.PYTHON, "", "import a.b.c\n", ""),
    "pins": (Kind.PACKAGES, "", "a[b]==1\n", ""),
    "a long pin": (Kind.PACKAGES, "", "a-_.", ""),
    "extras without an end": (Kind.PACKAGES, "a[", "aaaa", ""),
    "blanks of a pin": (Kind.PACKAGES, "a", "    ", "!"),
    "digits": (Kind.PACKAGES, "restrictedpython==", "99999999", ""),
    "versions": (Kind.PACKAGES, "restrictedpython==", "9.", ""),
    "capabilities": (Kind.CONTAINER, INSPECTED, '"ALL",', '""]}}'),
    "escapes": (Kind.CONTAINER, INSPECTED + '"', "\\n", '"]}}'),
    "JSON lines": (Kind.CONTAINER, "", '{"HostConfig":{}}\n', ""),
    "blank lines": (Kind.CONTAINER, "[", "\n" * 8, "{}]"),
    "services": (Kind.CONTAINER, "services:\n", " a{n}: {{cap_add: [ALL]}}\n", ""),
    "flows": (Kind.CONTAINER, "services: [", "a,", "]"),
    "keys": (Kind.CONTAINER, "services: {", "a: b, ", "}"),
    "aliases": (Kind.CONTAINER, "a: &a b\nc: [", "*a,", "]"),
    "merges": (Kind.CONTAINER, "a: &a {b: c}\nservices: {d: {", "<<: *a,", "}}"),
    "merges of merges": (Kind.CONTAINER, "a0: &a0 {b: c}\n", "a{m}: &a{m} {{<<: *a{n}, c{n}: d}}\n", ""),
    "comments": (Kind.CONTAINER, "services:\n", "#aaaaaa\n", ""),
    "quotes": (Kind.CONTAINER, "services: '", "''", "'"),
    "folded lines": (Kind.CONTAINER, "services: >\n", "  a\n\n", ""),
    "anchors": (Kind.CONTAINER, "services:\n", "- &a b\n", ""),
    "question marks": (Kind.CONTAINER, "services:\n", "? a\n", ""),
    "names of system calls": (Kind.SECCOMP, '{"syscalls":[{"action":"SCMP_ACT_ALLOW","names":[', '"a{n}",', '"a"]}]}'),
    "rules of system calls": (Kind.SECCOMP, '{"syscalls":[', '{{"names":["a{n}"],"action":"SCMP_ACT_ALLOW"}},', "{}]}"),
    "system calls": (Kind.SECCOMP, '{"syscalls":[', '{"names":["a"],"action":"SCMP_ACT_ALLOW"},', "{}]}"),
}


def text_of(name: str, count: int) -> str:
    """About `count` characters of the worst."""
    _, begin, one, end = WORST[name]
    number = count // len(one)
    return begin + "".join(one.format(n=n, m=n + 1) if "{n}" in one else one for n in range(number)) + end


def look(name: str, text: str) -> None:
    kind = WORST[name][0]
    try:
        subject = READ[kind](text)
    except Unreadable:
        return
    for rule in rules.of(kind):
        for _ in rule().check(subject):
            pass


@pytest.mark.parametrize("name", WORST)
def test_twice_the_text_takes_twice_the_time(name: str) -> None:
    assert_linear(lambda size: text_of(name, size), lambda text: look(name, text), begin=4_096, most=1 << 18)
