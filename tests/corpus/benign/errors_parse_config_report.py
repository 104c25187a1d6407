import json


class ParseError(ValueError):
    def __init__(self, message, line=None, column=None):
        where = f" (line {line}" + (f", column {column})" if column else ")") if line else ""
        super().__init__(message + where)
        self.line, self.column = line, column


def parse_ini(text):
    result, section = {}, None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("["):
            if not line.endswith("]"):
                raise ParseError("unclosed section", number, len(raw))
            section = result.setdefault(line[1:-1], {})
        elif section is None:
            raise ParseError("value before any section", number)
        else:
            key, sep, value = line.partition("=")
            if not sep:
                raise ParseError(f"no '=' in {line!r}", number, raw.index(line) + 1)
            section[key.strip()] = value.strip()
    return result


def parse_any(text):
    errors = []
    for parser in (json.loads, parse_ini):
        try:
            return parser.__name__, parser(text)
        except ValueError as e:
            errors.append(e)
    raise ParseError("; ".join(f"{type(e).__name__}: {str(e)[:40]}" for e in errors)) from errors[-1]


for text in ('{"a": 1}', "[s]\nk = v", "k = v", "[s\nk=v", "[s]\n  oops"):
    try:
        print(parse_any(text))
    except ParseError as e:
        print("cannot parse:", e)
print(issubclass(ParseError, ValueError), ParseError("x", 3).line, str(ParseError("plain")))
