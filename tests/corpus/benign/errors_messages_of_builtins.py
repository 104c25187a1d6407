cases = [
    lambda: int("3.5"),
    lambda: [1, 2][5],
    lambda: {"a": 1}["b"],
    lambda: "a" + 1,
    lambda: None.upper(),
    lambda: len(5),
    lambda: "abc".index("z"),
    lambda: [].remove(1),
    lambda: float("x"),
    lambda: (1, 2).append(3),
    lambda: undefined_name,
    lambda: next(iter([])),
    lambda: sorted([1, "a"]),
    lambda: {[]: 1},
    lambda: "%d" % "x",
    lambda: "{}".format(),
    lambda: chr(-1),
    lambda: set().pop(),
    lambda: int([]),
    lambda: 5(),
    lambda: 3[0],
]
for number, case in enumerate(cases):
    try:
        case()
    except Exception as e:
        print(f"{number:>2} {type(e).__name__}: {e}")
