def load(text):
    try:
        return int(text)
    except ValueError as error:
        raise RuntimeError("cannot load") from error

try:
    load("abc")
except RuntimeError as error:
    print(error, "|", repr(error))

try:
    raise KeyError("missing")
except Exception as e:
    print(type(e).__name__, e, e.args)

try:
    try:
        raise ValueError("inner")
    finally:
        print("cleanup")
except ValueError as e:
    e.add_note("extra")
    print("outer", e)
