def attempt(label, fn):
    try:
        print(label, "->", fn())
    except (ZeroDivisionError, IndexError, KeyError) as e:
        print(label, "lookup/arith", type(e).__name__, e)
    except Exception as e:
        print(label, type(e).__name__, e)
attempt("div", lambda: 1 / 0)
attempt("idx", lambda: [1][5])
attempt("key", lambda: {"a": 1}["b"])
attempt("int", lambda: int("3.5"))
attempt("add", lambda: "a" + 1)
attempt("attr", lambda: (5).foo)
attempt("none", lambda: None.x)
attempt("call", lambda: 5())
attempt("unpack", lambda: (lambda a, b: a)(*[1, 2, 3]))
attempt("name", lambda: undefined_name)
attempt("iter", lambda: list(5))
attempt("sub", lambda: 5[0])
attempt("float", lambda: float("x"))
attempt("kw", lambda: sorted([1], foo=2))
attempt("unhash", lambda: {[]: 1})
attempt("cmp", lambda: 1 < "a")
attempt("overflow", lambda: 2.0 ** 10000)
attempt("rec", lambda: (lambda f: f(f))(lambda f: f(f)))
attempt("fmt", lambda: "{:d}".format("x"))
attempt("conv", lambda: chr(-1))
attempt("assert", lambda: (_ for _ in ()).throw(AssertionError("thrown")))
a, b = 1, 2
try:
    a, b = [1]
except ValueError as e: print(e)
try:
    a.append(1)
except AttributeError as e: print(e)
try:
    import nonexistent_module
except ImportError as e: print(type(e).__name__)
