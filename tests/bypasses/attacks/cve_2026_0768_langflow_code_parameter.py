"""CVE-2026-0768, Langflow: a `code` parameter goes to exec as it is. What cells are: text that is executed, hence every
form of "text becomes code" inside of them must be gone.
"""

ADVISORY = "CVE-2026-0768"
GUARANTEE = "no-exec"
ATTACKS = {
    "exec": """
exec("LOOT = open")
""",
    "eval": """
LOOT = eval("open")
""",
    "compile": """
LOOT = compile("1", "x", "eval")
""",
    "exec_by_another_name": """
run = exec
run("LOOT = open")
""",
    "exec_in_a_list": """
[exec][0]("LOOT = open")
""",
    "exec_as_a_method": """
class C:
    run = staticmethod(exec)
C.run("globals().update(LOOT=open)")
""",
    "exec_mapped": """
list(map(exec, ["global LOOT; LOOT = open"]))
""",
    "exec_by_getattr": """
import builtins
getattr(builtins, "ex" + "ec")("LOOT = open")
""",
    "function_from_code": """
import types
LOOT = types.FunctionType(compile("open", "x", "eval"), {})()
""",
    "function_type_by_type": """
def f():
    pass
LOOT = [type(f), type(f)(f.__code__, {})]
""",
    "replace_code": """
LOOT = helper.__code__.replace(co_name="x")
""",
    "breakpoint": """
LOOT = breakpoint
""",
    "input": """
LOOT = input
""",
    "code_module": """
import code
LOOT = code
""",
    "timeit": """
import timeit
timeit.timeit("LOOT.append(open)", globals=globals(), number=1) if (LOOT := []) == [] else None
""",
    "string_annotations": """
from __future__ import annotations
import dataclasses, typing
@dataclasses.dataclass
class C:
    x: globals().update(LOOT=open)
typing.get_type_hints(C)
""",
}
CONTROLS = {
    "string_annotations": """
from __future__ import annotations
import dataclasses, typing
@dataclasses.dataclass
class C:
    x: globals().update(LOOT=open) or int
typing.get_type_hints(C, globals())
""",
    "timeit": """
import timeit
LOOT = []
timeit.timeit("LOOT.append(open)", globals=globals(), number=1)
""",
}
