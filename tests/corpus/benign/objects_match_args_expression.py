from dataclasses import dataclass


@dataclass
class Num:
    value: float


@dataclass
class BinOp:
    op: str
    left: object
    right: object


class Var:
    __match_args__ = ("name",)

    def __init__(self, name):
        self.name = name


def evaluate(node, env):
    match node:
        case Num(value):
            return value
        case Var(name) if name in env:
            return env[name]
        case Var(name):
            raise NameError(f"no value for {name}")
        case BinOp("+", left, right):
            return evaluate(left, env) + evaluate(right, env)
        case BinOp("*", Num(0), _) | BinOp("*", _, Num(0)):
            return 0
        case BinOp(op="*", left=left, right=right):
            return evaluate(left, env) * evaluate(right, env)
        case _:
            raise TypeError(f"cannot evaluate {node!r}")


def show(node):
    match node:
        case Num(v):
            return f"{v:g}"
        case Var(n):
            return n
        case BinOp(op, l, r):
            return f"({show(l)} {op} {show(r)})"


tree = BinOp("+", Num(2), BinOp("*", Var("x"), Num(5)))
print(show(tree), "=", evaluate(tree, {"x": 8}))
print(evaluate(BinOp("*", Var("unknown"), Num(0)), {}))
for bad in (Var("y"), BinOp("-", Num(1), Num(2))):
    try:
        evaluate(bad, {})
    except (NameError, TypeError) as e:
        print(f"{type(e).__name__}: {e}")
print(BinOp.__match_args__, Var.__match_args__)
