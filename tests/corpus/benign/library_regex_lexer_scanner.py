import re
from enum import Enum, auto
from typing import Iterator, NamedTuple


class Kind(Enum):
    NUMBER = auto()
    STRING = auto()
    NAME = auto()
    KEYWORD = auto()
    OPERATOR = auto()
    NEWLINE = auto()
    COMMENT = auto()


class Token(NamedTuple):
    kind: Kind
    text: str
    line: int
    column: int


PATTERNS = {
    Kind.COMMENT: r"--[^\n]*",
    Kind.STRING: r"'(?:[^']|'')*'",
    Kind.NUMBER: r"\d+(?:\.\d*)?",
    Kind.NAME: r"[A-Za-z_]\w*",
    Kind.OPERATOR: r"<=|>=|<>|[-+*/=<>(),;.]",
    Kind.NEWLINE: r"\n",
}
KEYWORDS = {"select", "from", "where", "and", "or", "order", "by"}
SCANNER = re.compile("|".join(f"(?P<{k.name}>{p})" for k, p in PATTERNS.items()) + r"|(?P<SKIP>[ \t]+)|(?P<BAD>.)")


def lex(text: str) -> Iterator[Token]:
    line, start = 1, 0
    for m in SCANNER.finditer(text):
        name, value, column = m.lastgroup, m.group(), m.start() - start + 1
        if name == "BAD":
            raise SyntaxError(f"line {line}, column {column}: unexpected {value!r}")
        if name == "NEWLINE":
            line, start = line + 1, m.end()
        elif name not in ("SKIP", "COMMENT"):
            kind = Kind.KEYWORD if name == "NAME" and value.lower() in KEYWORDS else Kind[name]
            yield Token(kind, value, line, column)


sql = """SELECT name, price * 1.08 -- with tax
FROM items
WHERE kind = 'it''s' AND price >= 10;"""
tokens = list(lex(sql))
for t in tokens[:6]:
    print(f"{t.line}:{t.column:<3}{t.kind.name:<9}{t.text}")
print(len(tokens), [t.text for t in tokens if t.kind is Kind.STRING], tokens[-1])
try:
    list(lex("SELECT a\nFROM b WHERE c = $1"))
except SyntaxError as e:
    print(type(e).__name__, e)
