"""What a user may set is on a page of the site: each parameter of the classes, and each name of the package."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import rlm_secure
from rlm_secure import RLM, agents, clients
from rlm_secure.agents.agent import Agent
from tests.docs.blocks import SITE


def told(folder: str) -> set[str]:
    """The words in the code of the pages in a folder."""
    pages = "\n".join(page.read_text("utf-8") for page in sorted((SITE / folder).glob("*.md")))
    code = [match[0] for match in re.finditer(r"```.*?```|`[^`\n]+`", pages, re.DOTALL)]
    return set(re.findall(r"\w+", " ".join(code)))


@pytest.mark.parametrize(
    ("kind", "folder"),
    [
        (RLM, "rlm"), (RLM.batch, "rlm"), (RLM.completion, "rlm"), (rlm_secure.RLMLogger, "rlm"), (rlm_secure.AuditLog, "rlm"),
        (agents.ReActAgent, "agents"), (agents.CodegenPipeline, "agents"), (Agent, "agents"), (agents.CodegenPipeline.run, "agents"),
        (agents.Tool, "agents"), (agents.ReActAgent.run, "agents"),
    ],
)  # fmt: skip
def test_each_parameter_is_on_a_page(kind: Any, folder: str) -> None:
    named = [name for name, each in inspect.signature(kind).parameters.items() if each.kind is not each.VAR_KEYWORD]
    assert sorted(set(named) - {"self"} - told(folder)) == []


def test_each_backend_has_a_place_on_the_page_of_models() -> None:
    page = (SITE / "rlm/models.md").read_text("utf-8")
    assert [name for name in clients.BACKENDS if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("module", [agents, rlm_secure.events])
def test_each_name_is_on_a_page(module: Any) -> None:
    shown = told("rlm") | told("agents")
    names = getattr(module, "__all__", None) or [
        name for name, each in vars(module).items() if inspect.isclass(each) and issubclass(each, module.Event) and each is not module.Event
    ]
    assert sorted(set(names) - shown) == []
