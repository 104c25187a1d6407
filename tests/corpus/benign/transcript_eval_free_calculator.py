import ast
import operator

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Pow: operator.pow, ast.USub: operator.neg}


def calculate(expression):
    def walk(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](walk(node.left), walk(node.right))
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](walk(node.operand))
        raise ValueError(f"not allowed: {type(node).__name__}")
    return walk(ast.parse(expression, mode="eval").body)


for expression in ("1 + 2 * 3", "-(4 - 1) ** 2", "10 / 4", "len('x')", "2 ** 0.5"):
    try:
        print(f"{expression} = {calculate(expression)}")
    except ValueError as e:
        print(f"{expression}: {e}")
