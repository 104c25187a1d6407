"""CVE-2025-3248, Langflow before 1.3 (9.8, exploited in the wild): code is "only validated", but decorators, default
arguments, bases, annotations and class bodies run when a definition is executed.
"""

ADVISORY = "CVE-2025-3248"
GUARANTEE = "no-exec"
ATTACKS = {
    "decorator": """
@exec
@(lambda f: "LOOT = __import__('os').system")
def f():
    pass
""",
    "decorator_call": """
@(lambda f: f)
@eval("lambda f: globals().update(LOOT=open) or f")
def f():
    pass
""",
    "default_argument": """
def f(x=exec("global LOOT; LOOT = open")):
    pass
""",
    "keyword_default": """
def f(*, x=__import__("os")):
    return x
LOOT = f()
""",
    "lambda_default": """
LOOT = (lambda x=eval("open"): x)()
""",
    "annotation": """
def f(x: exec("global LOOT; LOOT = open")):
    pass
""",
    "return_annotation": """
def f() -> exec("global LOOT; LOOT = open"):
    pass
""",
    "variable_annotation": """
x: exec("global LOOT; LOOT = open") = 1
""",
    "base_class": """
class C(exec("global LOOT; LOOT = open") or object):
    pass
""",
    "class_keyword": """
class Base:
    def __init_subclass__(cls, value=None):
        global LOOT
        LOOT = value
class C(Base, value=open):
    pass
""",
    "class_body": """
class C:
    exec("global LOOT; LOOT = open")
""",
    "class_decorator": """
@(lambda c: exec("global LOOT; LOOT = open"))
class C:
    pass
""",
    "type_comment_and_string": """
import typing
def f(x: "globals().update(LOOT=open)"):
    pass
typing.get_type_hints(f)
""",
}
CONTROLS = {
    "type_comment_and_string": """
import typing
def f(x: "globals().update(LOOT=open) or int"):
    pass
typing.get_type_hints(f)
""",
    "default_argument": """
def f(x=exec("LOOT = open", globals())):
    pass
""",
}
