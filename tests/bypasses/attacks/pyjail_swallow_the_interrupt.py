"""The worker stops a cell by raising in it. Whatever catches everything would swallow that: a bare except, BaseException,
and every spelling of it. (`finally: continue` and `__exit__` stay possible; the host kills after a grace.)
"""

ADVISORY = ""
GUARANTEE = "bounded-time"
ATTACKS = {
    "bare_except": """
try:
    stop()
except:
    LOOT = CANARY
""",
    "base_exception": """
try:
    stop()
except BaseException:
    LOOT = CANARY
""",
    "tuple": """
try:
    stop()
except (ValueError, BaseException):
    LOOT = CANARY
""",
    "by_another_name": """
Everything = BaseException
try:
    stop()
except Everything:
    LOOT = CANARY
""",
    "by_mro": """
try:
    stop()
except Exception.mro()[1]:
    LOOT = CANARY
""",
    "by_dunder_mro": """
try:
    stop()
except ValueError.__mro__[2]:
    LOOT = CANARY
""",
    "by_base": """
try:
    stop()
except Exception.__base__:
    LOOT = CANARY
""",
    "by_type_of_a_base_exception": """
import builtins
try:
    stop()
except getattr(builtins, "Base" + "Exception"):
    LOOT = CANARY
""",
    "by_subclass": """
class Mine(BaseException):
    pass
kind = Mine.__base__
try:
    stop()
except kind:
    LOOT = CANARY
""",
    "object": """
import contextlib
with contextlib.suppress(BaseException):
    stop()
LOOT = CANARY
""",
    "exit_stack": """
import contextlib
with contextlib.ExitStack() as stack:
    stack.enter_context(contextlib.suppress(BaseException))
    stop()
LOOT = CANARY
""",
    "in_a_loop": """
for _ in range(3):
    try:
        stop()
    except:
        continue
LOOT = CANARY
""",
    "in_a_generator": """
def g():
    try:
        yield stop()
    except:
        yield CANARY
LOOT = next(g())
""",
    "in_a_contextmanager": """
import contextlib
@contextlib.contextmanager
def quiet():
    try:
        yield
    except:
        pass
with quiet():
    stop()
LOOT = CANARY
""",
    "learned_from_an_exit": """
class Learn:
    kind = None
    def __enter__(self):
        return self
    def __exit__(self, kind, error, trace):
        Learn.kind = kind
        return True
with Learn():
    stop()
try:
    stop()
except Learn.kind.__base__:
    LOOT = CANARY
""",
    "raised_from_inside": """
try:
    try:
        stop()
    except:
        raise ValueError
except ValueError as error:
    LOOT = CANARY
""",
    "by_annotation_of_a_handler": """
import typing
kind = typing.cast(type, BaseException)
try:
    stop()
except kind:
    LOOT = CANARY
""",
    "by_exception_group": """
try:
    stop()
except (BaseExceptionGroup, *[BaseException]):
    LOOT = CANARY
""",
}
