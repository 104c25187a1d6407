import traceback
def risky(n):
    if n == 0: raise ValueError("zero!")
    return risky(n - 1)
try:
    risky(2)
except ValueError as e:
    lines = traceback.format_exc().strip().splitlines()
    print(lines[0]); print(lines[-1])
    print(traceback.format_exception_only(type(e), e))
    print("".join(traceback.format_exception(e)).count("risky") >= 3)
    print(e.args, str(e), repr(e), e.__class__.__name__, e.__traceback__ is not None)
import sys
try:
    risky(1)
except ValueError as e:
    kind, value, tb = sys.exc_info()
    print(kind.__name__, value, tb.tb_lineno, type(tb).__name__)
    print([(frame.lineno, frame.name) for frame in traceback.extract_tb(e.__traceback__)])
    print(len(traceback.format_tb(tb)), "".join(traceback.format_exception(kind, value, tb)).splitlines()[-1])
    try:
        raise RuntimeError("wrapped").with_traceback(e.__traceback__) from e
    except RuntimeError as outer:
        print(outer, repr(outer.__cause__), ValueError().__traceback__)
