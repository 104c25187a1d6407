"""The names that the `inspect` module documents for frames, tracebacks, code, generators: public, and each one a door."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "tb_frame": """
class C:
    def __enter__(self):
        pass
    def __exit__(self, kind, error, trace):
        global LOOT
        LOOT = trace.tb_frame
        return True
with C():
    1 / 0
""",
    "tb_next": """
class C:
    def __enter__(self):
        pass
    def __exit__(self, kind, error, trace):
        global LOOT
        LOOT = trace.tb_next.tb_frame
        return True
with C():
    helper.nothing if False else (lambda: 1 / 0)()
""",
    "tb_frame_by_pattern": """
class C:
    def __enter__(self):
        pass
    def __exit__(self, kind, error, trace):
        global LOOT
        match trace:
            case object(tb_frame=frame):
                LOOT = frame
        return True
with C():
    1 / 0
""",
    "tb_frame_by_getattr": """
class C:
    def __enter__(self):
        pass
    def __exit__(self, *details):
        global LOOT
        LOOT = getattr(details[2], "tb_frame")
        return True
with C():
    1 / 0
""",
    "traceback_of_the_exception": """
try:
    1 / 0
except ZeroDivisionError as error:
    LOOT = error.__traceback__.tb_frame
""",
    "context_of_the_exception": """
try:
    try:
        1 / 0
    except ZeroDivisionError:
        raise ValueError
except ValueError as error:
    LOOT = error.__context__.__traceback__.tb_frame.f_builtins
""",
    "throw_into_a_generator": """
def g():
    try:
        yield
    except ValueError as error:
        yield error.__traceback__.tb_frame
it = g()
next(it)
LOOT = it.throw(ValueError())
""",
    "f_locals_by_hasattr_probe": """
def g():
    yield
LOOT = getattr(getattr(g(), "gi_frame"), "f_locals", None) or getattr(g(), "gi_frame")
""",
    "contextmanager_gives_the_generator": """
import contextlib
@contextlib.contextmanager
def f():
    yield
LOOT = f().gen.gi_frame
""",
}
