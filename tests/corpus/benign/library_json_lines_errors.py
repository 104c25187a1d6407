import json

stream = '''{"id": 1, "text": "ok"}
{"id": 2, "text": "broken}
{"id": 3, "text": null}

[1, 2, 3]
{"id": "4", "text": "text id"}'''

valid, problems = [], []
for number, line in enumerate(stream.splitlines(), start=1):
    if not line.strip():
        continue
    try:
        record = json.loads(line)
        if not isinstance(record, dict):
            raise TypeError(f"expected an object, got {type(record).__name__}")
        record["id"] = int(record["id"])
    except json.JSONDecodeError as e:
        problems.append(f"line {number}, column {e.colno}: {e.msg}")
    except (TypeError, KeyError, ValueError) as e:
        problems.append(f"line {number}: {e}")
    else:
        valid.append(record)
print(valid)
print("\n".join(problems))
print(isinstance(json.JSONDecodeError("m", "doc", 0), ValueError))
