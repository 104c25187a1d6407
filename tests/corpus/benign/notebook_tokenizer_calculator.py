import re
from typing import NamedTuple


class Token(NamedTuple):
    kind: str
    text: str
    position: int


SPEC = [("NUMBER", r"\d+(?:\.\d+)?"), ("NAME", r"[a-z]\w*"), ("OP", r"[-+*/^=()]"), ("SPACE", r"\s+"), ("BAD", r".")]
MASTER = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in SPEC))


def tokenize(text):
    for m in MASTER.finditer(text):
        if m.lastgroup == "BAD":
            raise SyntaxError(f"unexpected {m.group()!r} at {m.start()}")
        if m.lastgroup != "SPACE":
            yield Token(m.lastgroup, m.group(), m.start())


class Parser:
    def __init__(self, text, names):
        self.tokens, self.i, self.names = list(tokenize(text)), 0, names

    def peek(self):
        return self.tokens[self.i].text if self.i < len(self.tokens) else None

    def take(self, *expected):
        if self.peek() not in expected:
            raise SyntaxError(f"expected {' or '.join(expected)}, got {self.peek()!r}")
        self.i += 1

    def expression(self):
        value = self.term()
        while (op := self.peek()) in ("+", "-"):
            self.i += 1
            value = value + self.term() if op == "+" else value - self.term()
        return value

    def term(self):
        value = self.power()
        while (op := self.peek()) in ("*", "/"):
            self.i += 1
            value = value * self.power() if op == "*" else value / self.power()
        return value

    def power(self):
        base = self.atom()
        if self.peek() == "^":
            self.i += 1
            return base ** self.power()
        return base

    def atom(self):
        if self.peek() is None:
            raise SyntaxError("unexpected end")
        token = self.tokens[self.i]
        self.i += 1
        match token:
            case Token(kind="NUMBER", text=text):
                return float(text)
            case Token("NAME", name, _):
                return self.names[name]
            case Token(text="-"):
                return -self.atom()
            case Token(text="("):
                value = self.expression()
                self.take(")")
                return value
        raise SyntaxError(f"unexpected {token.text!r}")


for line in ("1 + 2 * 3", "(1 + 2) * -x", "2 ^ 3 ^ 2", "10 / 4 - 1", "3 $ 4", "2 *", "(1", "y + 1", "1 / 0"):
    try:
        print(f"{line:<14}= {Parser(line, {'x': 5}).expression():g}")
    except (SyntaxError, KeyError, ZeroDivisionError) as e:
        print(f"{line:<14}! {type(e).__name__}: {e}")
