from contextlib import contextmanager


class Collector:
    def __init__(self):
        self.errors = []

    @contextmanager
    def guard(self, label):
        try:
            yield self
        except (ValueError, ArithmeticError) as e:
            self.errors.append((label, type(e).__name__, str(e)))

    def __bool__(self):
        return not self.errors


c = Collector()
data = ["4", "0", "x", "", "-2"]
for i, text in enumerate(data):
    with c.guard(f"row {i}"):
        print(f"{text!r}: {8 / int(text)}")
print(bool(c))
for error in c.errors:
    print(*error, sep=" | ")
try:
    with c.guard("other"):
        raise LookupError("not handled here")
except LookupError as e:
    print("outside:", e)
