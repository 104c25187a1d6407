import io
import json
from datetime import date, datetime
from decimal import Decimal


class Encoder(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, (date, datetime)):
            return o.isoformat()
        if isinstance(o, Decimal):
            return float(o)
        if isinstance(o, set):
            return sorted(o)
        return super().default(o)


record = {"id": 7, "when": date(2024, 5, 1), "amount": Decimal("12.50"), "tags": {"b", "a"}, "ok": None}
buffer = io.StringIO()
json.dump(record, buffer, cls=Encoder, indent=2)
print(buffer.getvalue())
buffer.seek(0)
again = json.load(buffer)
print(again["when"], again["amount"], again == record)
try:
    json.dumps({"x": object()}, cls=Encoder)
except TypeError as e:
    print("TypeError:", e)
parsed = json.loads('{"price": 1.10, "n": 3}', parse_float=Decimal, object_hook=lambda d: {k.upper(): v for k, v in d.items()})
print(parsed)
print(json.dumps("ünïcode", ensure_ascii=False), json.dumps({"b": 1, "a": [1.0, True]}, sort_keys=True, separators=(",", ":")))
