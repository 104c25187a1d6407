import re
from collections import namedtuple

Token = namedtuple("Token", ["type", "value", "column"])
SPEC = [
    ("NUMBER", r"\d+(?:\.\d*)?"),
    ("IDENT", r"[A-Za-z_]\w*"),
    ("OP", r"[+\-*/=()]"),
    ("SKIP", r"[ \t]+"),
    ("MISMATCH", r"."),
]
master = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in SPEC))

def tokenize(code):
    for mo in master.finditer(code):
        kind = mo.lastgroup
        if kind == "SKIP":
            continue
        yield Token(kind, mo.group(), mo.start())

for token in tokenize("total = price * (1 + rate) ?"):
    print(token)
