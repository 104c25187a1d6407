"""Images with numpy, pandas and matplotlib: which sessions need one, what it is called, and how it gets the packages.

They are wheels of one list (sandboxes/data/requirements.txt), by version and hash, installed when the image is built
and never later. pip unpacks them: it runs no code of theirs. A zygote imports them from the image's own site-packages.

Guards: which files of others an image gets
"""

from __future__ import annotations

from typing import Final

from rlm_secure.policy.model import MIB, Policy
from rlm_secure.registry import ENVIRONMENTS
from rlm_secure.resources import sandboxes_dir

#: Memory of a zygote that has imported them, in addition to that of one without: its own, and files that it maps.
PACKAGES_BYTES: Final = 256 * MIB
#: How much longer such a zygote takes to start: 3 seconds of a processor, which a busy machine shares.
PACKAGES_SECONDS: Final = 30.0
#: Where a build finds wheels that it was given.
WHEELS: Final = "wheels"

_FROM = "FROM ${BASE}\n"
_PINS = "/tmp/rlm-secure-pins"  # noqa: S108 - in a build
#: A zygote writes no bytecode, so each one would compile the packages anew. Their own tests are half of their files.
_COMPILE = (
    "import compileall, re, site; "
    '[compileall.compile_dir(each, quiet=2, rx=re.compile("/tests/")) for each in site.getsitepackages()]'
)


def needed(policy: Policy | None) -> bool:
    """Whether sessions under `policy` need an image with packages."""
    return policy is not None and bool(policy.language.packages)


def image_name(plain: str, *, packages: bool) -> str:
    """The name of the image, template or snapshot that is called `plain` without packages."""
    return plain.replace("-sandbox", "-sandbox-data", 1) if packages else plain


def overhead_bytes(plain: int, policy: Policy | None) -> int:
    """Memory that a sandbox needs in addition to its worker's, in bytes; `plain` is that of one without packages."""
    return plain + (PACKAGES_BYTES if needed(policy) else 0)


def start_seconds(policy: Policy) -> float:
    """How long a worker may take to start, with its zygote."""
    return policy.limits.start_seconds + (PACKAGES_SECONDS if needed(policy) else 0.0)


def unfit(environment: str, reason: str) -> str:
    """The sentence for a sandbox whose zygote could not import what its policy gives to cells."""
    spec = ENVIRONMENTS.get(environment)
    if spec is None or spec.builds:
        built, more = environment, ""
    else:
        built, more = "docker", ", push it, and name it by its digest"
    return (
        f"the policy gives packages to cells that this {environment} sandbox cannot import ({reason}); build one that "
        f"can with `rlm-secure sandbox build {built} --policy data --base python@sha256:<digest>`{more}"
    )


def with_packages(dockerfile: str, *, wheels: bool) -> str:
    """`dockerfile`, one of ours, with the step that installs the packages.

    From the folder WHEELS of the build's context where there are `wheels`, else from the base's package index. pip may
    be one of those wheels.
    """
    text = (sandboxes_dir() / "data" / "requirements.txt").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [" ".join(line.split()) for line in text.splitlines() if line and not line.startswith("#")]
    pins = " ".join(f"'{line}'" for line in lines)
    find = f"--no-index --find-links /{WHEELS}" if wheels else "--no-cache-dir"
    path = f'PYTHONPATH="$(ls /{WHEELS}/pip-*.whl 2>/dev/null | tail -n 1)" ' if wheels else ""
    pip = f"{path}PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore python3 -m pip install"
    steps = [
        f"RUN printf '%s\\n' {pins} >{_PINS}",
        f"{pip} --no-compile --no-deps --only-binary :all: --require-hashes {find} --requirement {_PINS}",
        f"python3 -c '{_COMPILE}'",
        f"rm -r {_PINS}{f' /{WHEELS}' if wheels else ''}",
    ]
    copy = f"COPY {WHEELS} /{WHEELS}\n" if wheels else ""
    return dockerfile.replace(_FROM, f"{_FROM}\n{copy}{' && '.join(steps)}\n", 1)
