class LoadError(Exception):
    pass


def inner(text):
    return int(text)


def outer(text):
    try:
        return inner(text)
    except ValueError as error:
        raise LoadError(f"cannot load {text!r}") from error


try:
    outer("x1")
except LoadError as e:
    print(e, "|", repr(e.__cause__), "|", e.__cause__ is e.__context__, e.__suppress_context__)

try:
    try:
        {}["a"]
    except KeyError:
        1 / 0
except ZeroDivisionError as e:
    print(type(e).__name__, "while handling", type(e.__context__).__name__, e.__cause__)

try:
    try:
        [][1]
    except IndexError:
        raise RuntimeError("hidden") from None
except RuntimeError as e:
    print(e, e.__cause__, e.__suppress_context__)


def chain(e):
    while e is not None:
        yield f"{type(e).__name__}: {e}"
        e = e.__cause__ or e.__context__


try:
    outer("y")
except Exception as e:
    print(" <- ".join(chain(e)))
