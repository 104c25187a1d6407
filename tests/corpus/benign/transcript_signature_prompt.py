import inspect


def lookup(name: str, *, exact: bool = False, limit: int = 10) -> list:
    """Look a name up."""
    return []


def describe(function):
    signature = inspect.signature(function)
    parts = []
    for parameter in signature.parameters.values():
        default = "" if parameter.default is inspect.Parameter.empty else f" (default {parameter.default!r})"
        parts.append(f"{parameter.name}{default}")
    return f"{function.__name__}: {', '.join(parts)} — {inspect.getdoc(function)}"


print(describe(lookup))
print(inspect.signature(lookup))
print(inspect.isfunction(lookup), inspect.isclass(dict))
