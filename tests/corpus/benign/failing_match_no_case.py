def area(shape):
    match shape:
        case {"kind": "circle", "r": r}:
            return 3 * r * r
        case {"kind": "square", "a": a}:
            return a * a
        case other:
            raise LookupError(f"unknown shape {other['kind']}")


for shape in ({"kind": "circle", "r": 2}, {"kind": "square", "a": 3, "color": "red"}, {"kind": "blob"}):
    print(area(shape))
