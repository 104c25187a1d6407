def check(value):
    errors = []
    for name, test, error in (
        ("type", isinstance(value, int), TypeError),
        ("sign", not isinstance(value, int) or value >= 0, ValueError),
        ("size", not isinstance(value, int) or abs(value) < 100, OverflowError),
    ):
        if not test:
            errors.append(error(f"{name} of {value!r}"))
    if errors:
        raise ExceptionGroup("checks failed", errors)
    return value


for value in (5, -500, "x", -1):
    try:
        print("ok", check(value))
    except* TypeError as group:
        print("types:", [str(e) for e in group.exceptions])
    except* (ValueError, OverflowError) as group:
        print("values:", [str(e) for e in group.exceptions])
try:
    raise ExceptionGroup("outer", [ExceptionGroup("inner", [KeyError("k")]), OSError("disk")])
except ExceptionGroup as g:
    matched, rest = g.split(OSError)
    print(g.message, len(g.exceptions), matched.exceptions, rest.exceptions[0].exceptions)
    print(g.subgroup(lambda e: isinstance(e, KeyError)) is not None)
