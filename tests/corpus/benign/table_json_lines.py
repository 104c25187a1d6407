import json
raw = "\n".join(json.dumps({"id": i, "value": i * i, "group": "abc"[i % 3]}) for i in range(9))
records = [json.loads(line) for line in raw.splitlines()]
groups = {}
for record in records:
    groups.setdefault(record["group"], []).append(record["value"])
print({k: sum(v) for k, v in sorted(groups.items())})
print(max(records, key=lambda r: r["value"]))
