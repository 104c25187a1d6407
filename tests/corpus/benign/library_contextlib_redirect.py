import io
from contextlib import redirect_stdout, redirect_stderr, closing, nullcontext, contextmanager
import sys


def noisy():
    print("working ...")
    print("half way", file=sys.stderr)
    return 42


out, err = io.StringIO(), io.StringIO()
with redirect_stdout(out), redirect_stderr(err):
    value = noisy()
print(value, repr(out.getvalue()), repr(err.getvalue()))


@contextmanager
def captured():
    buffer = io.StringIO()
    with redirect_stdout(buffer):
        yield buffer


with captured() as buffer:
    for i in range(3):
        print(i, end=" ")
print("captured:", buffer.getvalue().split())
with closing(io.StringIO("a\nb")) as stream, nullcontext("n") as name:
    print(stream.read().upper().split(), name)
print(stream.closed)
