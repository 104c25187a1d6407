"""Rules on Dockerfiles of images that model-written code runs in."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rlm_secure.audit.finding import Confidence, Finding, Severity
from rlm_secure.audit.read.dockerfile import DockerfileSubject, Instruction
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.guarantees import Guarantee

_SECRET = re.compile(r"(?i)(?:api_?key|secret|token|passwd|password|credential|private_?key)")
_FETCH = re.compile(r"(?:curl|wget)\b")
_SHELL = re.compile(r"\s*(?:sudo\s+)?(?:ba|z|da)?sh\b")
_SHELL_OF_FETCH = re.compile(r"(?:ba)?sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()\s*(?:curl|wget)")
_SEPARATOR = re.compile(r"[;&|]")
_INSTALL = re.compile(r"\b(?:pip3?|uv pip|apt-get|apt|apk|npm|conda)[\"',\s]+(?:install|add)\b|\b(?:curl|wget)\b")
_PIP = re.compile(r"\b(?:uv\s+)?pip3?\s+install\s+(?P<what>[^;&|\n]*)")
_PINNED = re.compile(r"--require-hashes|-r\s|--requirement|-e\s|(?:^|\s)\.{1,2}(?:/|\s|\[|$)|\.whl|\.pyz")
_VERSIONED = re.compile(r"===?|@")
_ROOT = ("root", "0")


class ImageRoot(Rule[DockerfileSubject]):
    """An image runs as root.

    To the kernel, root in a container is root, minus the capabilities that were dropped. Most escapes from a
    container start as root: mounts, devices, files of other users.

    Bad:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        CMD ["python", "worker.py"]

    Good:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        USER 65534:65534
        CMD ["python", "worker.py"]

    See:
        https://docs.docker.com/build/building/best-practices/
    """

    id = "image-root"
    kind = Kind.DOCKERFILE
    severity = Severity.HIGH
    weakens = (Guarantee.SESSION_ISOLATION, Guarantee.HOST_INTEGRITY)
    hint = "end with USER and a number that is not 0"

    def check(self, subject: DockerfileSubject) -> Iterator[Finding]:
        users = [each for each in subject.last_stage if each.keyword == "USER"]
        if not users:
            start = next(each for each in subject.last_stage if each.keyword == "FROM")
            yield self.finding(start.location, "no USER: the image runs as root", about="USER")
        elif users[-1].text.strip().partition(":")[0] in _ROOT:
            yield self.finding(users[-1].at(0), f"the image runs as {users[-1].text.strip()[:40]}", about="USER")


class ImageUnpinned(Rule[DockerfileSubject]):
    """A base image is named by a tag.

    The owner of a tag can change it at any time. Without a digest, the image that runs may differ from the image
    that was audited.

    Bad:
        FROM python:latest
        USER 65534

    Good:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        USER 65534

    See:
        https://docs.docker.com/build/building/best-practices/#pin-base-image-versions
    """

    id = "image-unpinned"
    kind = Kind.DOCKERFILE
    weakens = (Guarantee.HOST_INTEGRITY,)
    hint = "name the image by its digest: IMAGE:TAG@sha256:DIGEST"

    def check(self, subject: DockerfileSubject) -> Iterator[Finding]:
        stages = {each.text.split()[-1].lower() for each in subject.of("FROM") if " as " in each.text.lower()}
        stages.add("scratch")
        for each in subject.of("FROM"):
            words = [word for word in each.text.split() if not word.startswith("--")]
            image = words[0] if words else ""
            if not image or "@sha256:" in image or image.lower() in stages or image.startswith("$"):
                continue
            tag = image.rpartition("/")[2].partition(":")[2]
            place = each.at(each.text.index(image))
            if tag in ("", "latest"):
                yield self.finding(place, f"{image[:80]} is whatever is newest on the day of the build", about=image)
            else:
                message = f"{image[:80]} has a tag and no digest"
                yield self.finding(place, message, about=image, severity=Severity.LOW)


class InstallAtStart(Rule[DockerfileSubject]):
    """A container installs packages, or fetches something, when it starts.

    It then needs a network while it runs, and runs what the index offers on that day: possibly other code than was
    audited, in each new container.

    Bad:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        USER 65534
        CMD pip install dill requests && python worker.py

    Good:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        COPY worker.pyz /
        USER 65534
        CMD ["python", "/worker.pyz"]

    See:
        threat-model.md, claim no-network
    """

    id = "install-at-start"
    kind = Kind.DOCKERFILE
    severity = Severity.HIGH
    weakens = (Guarantee.NO_NETWORK, Guarantee.HOST_INTEGRITY)
    hint = "install while the image is built, and start without a network"

    def check(self, subject: DockerfileSubject) -> Iterator[Finding]:
        for each in subject.of("CMD", "ENTRYPOINT"):
            if match := _INSTALL.search(each.text):
                yield self.finding(each.at(match.start()), f"{each.keyword} runs {match[0][:40]!r}", about=each.keyword)


class PipedShell(Rule[DockerfileSubject]):
    """A build runs a download without checking it.

    The server at that address decides what is in the image, and can answer each client differently.

    Bad:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        RUN curl -fsSL https://example.com/install.sh | sh
        USER 65534

    Good:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        COPY install.sh /
        RUN sh /install.sh
        USER 65534

    See:
        https://cwe.mitre.org/data/definitions/494.html
    """

    id = "piped-shell"
    kind = Kind.DOCKERFILE
    severity = Severity.HIGH
    weakens = (Guarantee.HOST_INTEGRITY,)
    hint = "download to a file, compare its checksum, then run it"

    def check(self, subject: DockerfileSubject) -> Iterator[Finding]:
        for each in subject.of("RUN"):
            for start, end in _piped(each.text):
                about = each.text[start:end][:80]
                yield self.finding(each.at(start), "a download is piped into a shell", about=about)


class SecretInImage(Rule[DockerfileSubject]):
    """A secret is in the environment, or among the arguments, of an image.

    ENV is in every container, where a cell's process can read it; ARG is in the history of the image. Both are in
    every copy of the image.

    Bad:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        ENV OPENAI_API_KEY=sk-proj-4f8a1c0d
        USER 65534

    Good:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        RUN --mount=type=secret,id=key true
        USER 65534

    See:
        https://docs.docker.com/build/building/secrets/
    """

    id = "secret-in-image"
    kind = Kind.DOCKERFILE
    severity = Severity.HIGH
    confidence = Confidence.MEDIUM
    weakens = (Guarantee.NO_SECRETS,)
    hint = "keep it on the host: cells ask the host for model calls, and need no key"

    def check(self, subject: DockerfileSubject) -> Iterator[Finding]:
        for each in subject.of("ENV", "ARG"):
            for name, at in _names(each):
                if _SECRET.search(name):
                    message = f"{each.keyword} has {name[:60]}, which looks like a secret's name"
                    yield self.finding(each.at(at), message, about=f"{each.keyword} {name}")


class AddFromUrl(Rule[DockerfileSubject]):
    """ADD fetches from an address without a checksum.

    The build accepts whatever the server sends on that day.

    Bad:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        ADD https://example.com/tool.tar.gz /opt/
        USER 65534

    Good:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        COPY tool.tar.gz /opt/
        USER 65534

    See:
        https://docs.docker.com/reference/dockerfile/#add---checksum
    """

    id = "add-from-url"
    kind = Kind.DOCKERFILE
    weakens = (Guarantee.HOST_INTEGRITY,)
    hint = "give --checksum=sha256:DIGEST, or COPY a file that you have"

    def check(self, subject: DockerfileSubject) -> Iterator[Finding]:
        for each in subject.of("ADD"):
            match = re.search(r"(?:https?|ftp|git)://\S+", each.text)
            if match and "--checksum" not in each.text:
                yield self.finding(each.at(match.start()), f"ADD fetches {match[0][:80]}", about=match[0])


class PipUnpinned(Rule[DockerfileSubject]):
    """A build installs packages without exact versions.

    The next build may install other code. A compromised release of a package reaches it automatically.

    Bad:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        RUN pip install numpy pandas
        USER 65534

    Good:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        RUN pip install --require-hashes -r requirements.txt
        USER 65534

    See:
        https://pip.pypa.io/en/stable/topics/secure-installs/
    """

    id = "pip-unpinned"
    kind = Kind.DOCKERFILE
    severity = Severity.LOW
    weakens = (Guarantee.HOST_INTEGRITY,)
    hint = "pip install --require-hashes -r requirements.txt"

    def check(self, subject: DockerfileSubject) -> Iterator[Finding]:
        for each in subject.of("RUN"):
            for match in _PIP.finditer(each.text):
                names = [word for word in match["what"].split() if not word.startswith(("-", "\\"))]
                if names and not _PINNED.search(match["what"]) and not all(_VERSIONED.search(name) for name in names):
                    message = f"{match[0].strip()[:80]!r} takes the newest versions"
                    yield self.finding(each.at(match.start()), message, about=match[0].strip())


class CopyEverything(Rule[DockerfileSubject]):
    """A build copies the whole folder into the image.

    This includes .env files, keys, the history of the repository, and whatever else is there on that day; a cell in
    the container can read them.

    Bad:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        COPY . /app
        USER 65534

    Good:
        FROM python:3.11-slim@sha256:0000000000000000000000000000000000000000000000000000000000000000
        COPY worker.py /app/
        USER 65534

    See:
        https://docs.docker.com/build/concepts/context/#dockerignore-files
    """

    id = "copy-everything"
    kind = Kind.DOCKERFILE
    severity = Severity.LOW
    confidence = Confidence.MEDIUM
    weakens = (Guarantee.NO_SECRETS,)
    hint = "name the files that the image needs"

    def check(self, subject: DockerfileSubject) -> Iterator[Finding]:
        for each in subject.of("COPY", "ADD"):
            words = [word for word in each.text.split() if not word.startswith("--")]
            if "--from" not in each.text and words and words[0] in (".", "./", "*"):
                place = each.at(each.text.index(words[0]))
                yield self.finding(place, f"{each.keyword} takes the whole build context", about=each.keyword)


def _piped(text: str) -> Iterator[tuple[int, int]]:
    """Where the first download that is piped into a shell begins and ends.

    Each command is searched once: a pattern over the whole line would search the rest of it for each download.
    """
    found = [match.span()] if (match := _SHELL_OF_FETCH.search(text)) else []
    begin = 0
    for separator in _SEPARATOR.finditer(text):
        fetch = _FETCH.search(text, begin, separator.start())
        begin = separator.end()
        if fetch and separator[0] == "|" and (shell := _SHELL.match(text, begin)):
            found.append((fetch.start(), shell.end()))
            break
    yield from sorted(found)[:1]


def _names(each: Instruction) -> Iterator[tuple[str, int]]:
    """The variables that an ENV or ARG sets, each with its offset."""
    if each.keyword == "ARG" or "=" in each.text:
        for match in re.finditer(r"(?:^|\s)([A-Za-z_][A-Za-z0-9_]*)(?==|\s|$)", each.text):
            yield match[1], match.start(1)
    elif first := re.match(r"[A-Za-z_][A-Za-z0-9_]*", each.text):
        yield first[0], 0


RULES = (
    ImageRoot, ImageUnpinned, InstallAtStart, PipedShell, SecretInImage, AddFromUrl, PipUnpinned, CopyEverything,
)  # fmt: skip
