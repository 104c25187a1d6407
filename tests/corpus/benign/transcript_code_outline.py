import re

source = '''import os
from typing import Any

LIMIT = 10

def load(path: str, *, strict: bool = False) -> list[str]:
    """Read the lines."""
    return []

class Store(Base):
    """Keeps things."""

    def __init__(self, name):
        self.name = name

    @property
    def size(self):
        return 0

    async def fetch(self, key): ...

def _private(): pass
'''
outline, decorator = [], None
for number, line in enumerate(source.splitlines(), 1):
    indent = len(line) - len(line.lstrip())
    if m := re.match(r"\s*@(\w+)", line):
        decorator = m[1]
    elif m := re.match(r"\s*(async def|def|class)\s+(\w+)\s*(\(.*?\))?", line):
        kind = {"class": "class", "def": "method" if indent else "function", "async def": "coroutine"}[m[1]]
        outline.append((number, indent // 4, decorator or kind, m[2], m[3] or ""))
        decorator = None
for number, depth, kind, name, arguments in outline:
    print(f"{number:>3} {'  ' * depth}{kind} {name}{arguments}")
public = [name for *_, name, _ in outline if not name.startswith("_")]
print(public, len(re.findall(r'"""', source)) // 2, "docstrings")
print(llm_query("Explain this code:\n" + source))
