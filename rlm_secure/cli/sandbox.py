"""`rlm-secure sandbox`: build sandbox images, and end sandboxes that dead processes left behind."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from rlm_secure.cli import options
from rlm_secure.cli.terminal import COULD_NOT_RUN, OK, inert, say

DETAILS = """\
examples:
  rlm-secure sandbox build docker --base python@sha256:...
  rlm-secure sandbox build e2b --base python@sha256:... --policy data
  rlm-secure sandbox sweep docker

Credentials come from the provider's own environment variables (E2B_API_KEY, ...), never from an argument.

exit codes:
  0  done: the name of what was built, or how many were ended, is on stdout
  2  could not run: bad usage, no engine, no credentials, or the provider refused
  130  interrupted"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command and its two verbs."""
    command = options.parser(
        commands,
        "sandbox",
        usage="VERB [options]",
        summary="build sandbox images, and end sandboxes that nobody uses",
        details=DETAILS,
    )
    command.set_defaults(command=lambda _: _help(command))
    verbs = command.add_subparsers(title="verbs", metavar="VERB")
    verb = partial(options.verb, verbs, "sandbox")
    usage = "ENVIRONMENT --base IMAGE [options]"
    build = verb("build", usage, "build the image, template or snapshot of an environment")
    built, swept = _named()
    others = f"{', '.join(swept)}, or one of another distribution"
    build.add_argument("environment", metavar="ENVIRONMENT", choices=built, help=", ".join(built))
    build.add_argument(
        "--base", metavar="IMAGE", required=True, help="an image with Python 3.11 or newer, by digest: NAME@sha256:..."
    )
    build.add_argument("--name", metavar="NAME", help="what to call it (default: what the environment looks for)")
    options.add_policy(build)
    build.add_argument(
        "--wheels",
        metavar="FOLDER",
        help="docker: where the wheels of a policy's packages are (default: PyPI); the build then has no network",
    )
    build.set_defaults(command=_build)
    sweep = verb("sweep", "ENVIRONMENT", "end sandboxes that dead processes of this machine left")
    sweep.add_argument("environment", metavar="ENVIRONMENT", help=others)
    sweep.set_defaults(command=_sweep)


def _named() -> tuple[list[str], list[str]]:
    """The environments whose images are built here, and those whose sandboxes are swept."""
    from rlm_secure.registry import ENVIRONMENTS, RunsIn

    remote = {name: spec for name, spec in ENVIRONMENTS.items() if spec.runs_in is not RunsIn.PROCESS}
    return sorted(name for name, spec in remote.items() if spec.builds), sorted(remote)


def _help(command: argparse.ArgumentParser) -> int:
    command.print_help(sys.stderr)
    return COULD_NOT_RUN


def _build(arguments: argparse.Namespace) -> int:
    from rlm_secure.environments.remote.data_image import image_name, needed
    from rlm_secure.policy import load_policy

    def progress(line: str) -> None:
        say(inert(line, terminal=sys.stderr.isatty()))

    packages = needed(load_policy(arguments.policy))
    if arguments.environment == "docker":
        from rlm_secure.environments.docker.image import DEFAULT_IMAGE, build

        name = arguments.name or image_name(DEFAULT_IMAGE, packages=packages)
        build(arguments.base, name, packages=packages, wheels=arguments.wheels, progress=progress)
    else:
        from rlm_secure.environments.cloud import images

        if arguments.wheels is not None:
            raise ValueError("a cloud builds with its own network; --wheels is for docker")
        name = images.build(
            arguments.environment, arguments.base, arguments.name, packages=packages, progress=progress
        )
    print(name)
    return OK


def _sweep(arguments: argparse.Namespace) -> int:
    from rlm_secure.environments.registry import create_environment

    print(create_environment(arguments.environment).sweep())
    return OK
