import json
from dataclasses import dataclass, asdict, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction


@dataclass
class Point:
    x: float
    y: float


def default(value):
    if is_dataclass(value):
        return {"__point__": asdict(value)}
    if isinstance(value, (date, datetime)):
        return {"__date__": value.isoformat()}
    if isinstance(value, (Decimal, Fraction)):
        return {"__number__": str(value), "kind": type(value).__name__}
    if isinstance(value, (set, frozenset)):
        return {"__set__": sorted(value)}
    if isinstance(value, bytes):
        return {"__hex__": value.hex()}
    if isinstance(value, complex):
        return [value.real, value.imag]
    raise TypeError(f"cannot write a {type(value).__name__}")


def hook(d):
    match d:
        case {"__point__": point}:
            return Point(**point)
        case {"__date__": text}:
            return date.fromisoformat(text)
        case {"__number__": text, "kind": "Decimal"}:
            return Decimal(text)
        case {"__number__": text}:
            return Fraction(text)
        case {"__set__": items}:
            return set(items)
        case {"__hex__": text}:
            return bytes.fromhex(text)
    return d


data = {"p": Point(1, 2.5), "when": date(2024, 2, 29), "n": [Decimal("1.10"), Fraction(1, 3)], "tags": {3, 1}, "raw": b"\x00\xff", "deep": {"q": [Point(0, 0)]}}
text = json.dumps(data, default=default, sort_keys=True)
print(text)
print(json.loads(text, object_hook=hook) == data, json.loads(text, object_hook=hook)["n"])
for bad in (timedelta(1), object()):
    try:
        json.dumps([bad], default=default)
    except TypeError as e:
        print("TypeError:", e)
print(json.dumps({1: "a", None: "b", True: "c", 2.5: "d"}), json.dumps([float("inf")]), json.loads("[1e2, -0, 1E400]"))
try:
    json.dumps(float("nan"), allow_nan=False)
except ValueError as e:
    print("ValueError")
print(json.dumps("a\u2028\"\\/\t", ensure_ascii=True), json.loads('"\\ud83d\\ude00"'), json.JSONDecoder().raw_decode('{"a": 1} tail'))
