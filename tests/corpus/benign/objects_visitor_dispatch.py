class Visitor:
    def visit(self, node):
        method = getattr(self, f"visit_{type(node).__name__}", self.generic)
        return method(node)

    def generic(self, node):
        return f"<{type(node).__name__}>"


class JsonLike(Visitor):
    def __init__(self):
        self.depth = 0

    def visit_dict(self, node):
        self.depth += 1
        body = ", ".join(f"{key}: {self.visit(value)}" for key, value in node.items())
        self.depth -= 1
        return "{" + body + "}" + ("" if self.depth else ";")

    def visit_list(self, node):
        return "[" + " ".join(self.visit(x) for x in node) + "]"

    visit_tuple = visit_list

    def visit_str(self, node):
        return repr(node)

    def visit_int(self, node):
        return str(node)

    def visit_bool(self, node):
        return "yes" if node else "no"


v = JsonLike()
print(v.visit({"a": [1, True, "x"], "b": {"c": (2, None, 3.5)}, "d": set()}))
print([name for name in dir(v) if name.startswith("visit_")])
print(hasattr(v, "visit_bytes"), v.generic(b""))
