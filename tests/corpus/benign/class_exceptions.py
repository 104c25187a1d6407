class AppError(Exception):
    """Base."""

class NotFound(AppError):
    def __init__(self, key, where="store"):
        super().__init__(f"{key!r} not found in {where}")
        self.key = key

class Invalid(AppError, ValueError):
    pass

def lookup(store, key):
    if not isinstance(key, str):
        raise Invalid(f"bad key type: {type(key).__name__}")
    try:
        return store[key]
    except KeyError as e:
        raise NotFound(key) from e

for key in ("a", "b", 3):
    try:
        print(lookup({"a": 1}, key))
    except NotFound as e:
        print("NotFound:", e, e.key, e.args)
    except ValueError as e:
        print("ValueError:", e, isinstance(e, AppError))
