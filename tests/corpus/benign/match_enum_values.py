from enum import Enum

class Op(Enum):
    ADD = "+"
    MUL = "*"

def evaluate(expr):
    match expr:
        case (Op.ADD, left, right):
            return evaluate(left) + evaluate(right)
        case (Op.MUL, left, right):
            return evaluate(left) * evaluate(right)
        case int() | float():
            return expr
        case _:
            raise TypeError(f"bad expression {expr!r}")

print(evaluate((Op.ADD, 2, (Op.MUL, 3, 4))))
try:
    evaluate("x")
except TypeError as e:
    print(e)
