import time
from contextlib import contextmanager, suppress, ExitStack


class Step:
    log = []

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.started = time.perf_counter()
        self.log.append(f"begin {self.name}")
        return self

    def __exit__(self, exc_type, exc, tb):
        self.seconds = time.perf_counter() - self.started
        outcome = "ok" if exc_type is None else exc_type.__name__
        self.log.append(f"end {self.name}: {outcome}")
        return exc_type is KeyError


@contextmanager
def indent(by):
    print(" " * by + "(")
    try:
        yield by + 2
    except ZeroDivisionError as e:
        print(" " * by + f"! {e}")
    finally:
        print(" " * by + ")")


with Step("load") as load, Step("parse"):
    {}["missing"]
with suppress(ValueError, TypeError), Step("convert"):
    int("twelve")
with indent(0) as a, indent(a) as b:
    print(" " * b + "x")
    1 / 0
with ExitStack() as stack:
    steps = [stack.enter_context(Step(f"part {i}")) for i in range(2)]
    stack.callback(print, "closing")
print(*Step.log, sep="\n")
print(0 <= load.seconds < 60, all(hasattr(s, "seconds") for s in steps))
