"""A question over a real code base: the source of the standard library's `email` package, 30 files, as a Path.

    python examples/code_base.py                                       offline
    RLM_SECURE_MODEL=openai:gpt-5-mini python examples/code_base.py    a real model

The host reads the folder; the model's cells have it as a dict from path to text, and search it. The model sees what
they print, never all of the source.

It prints:

    CloseBoundaryNotFoundDefect, declared in errors.py, recorded by FeedParser._parsegen in feedparser.py
"""

from __future__ import annotations

import email
from pathlib import Path

from model import model

from rlm_secure import RLM

QUESTION = (
    "Which defect does this package record for a multipart message whose last boundary never comes? "
    "Answer as: CLASS, declared in FILE, recorded by CLASS.FUNCTION in FILE"
)

#: What a model writes when it is asked this; the scripted backend plays it.
WRITTEN = [
    """\
I look for classes of defects that speak of a boundary.

```repl
import re
for path, source in sorted(context.items()):
    for name, said in re.findall(r'^class (\\w*Defect)\\(.*\\):\\n +"{3}(.*)"{3}', source, re.MULTILINE):
        if "boundary" in said.lower():
            print(path, name, "-", said)
```""",
    """\
CloseBoundaryNotFoundDefect it is. Now who uses it, outside of the file that declares it.

```repl
defect = "CloseBoundaryNotFoundDefect"
declared = [path for path, source in context.items() if f"class {defect}(" in source]
users = [path for path, source in context.items() if defect in source and path not in declared]
lines = context[users[0]].splitlines()
at = next(number for number, line in enumerate(lines) if defect in line)

def above(word):
    found = [re.match(rf"\\s*{word} (\\w+)", line) for line in lines[:at]]
    return [each.group(1) for each in found if each][-1]

final_answer(f"{defect}, declared in {declared[0]}, recorded by {above('class')}.{above('def')} in {users[0]}")
```""",
]


def main() -> None:
    with RLM(*model(turns=WRITTEN)) as rlm:
        print(rlm.completion(Path(email.__file__).parent, root_prompt=QUESTION).response)


if __name__ == "__main__":
    main()
