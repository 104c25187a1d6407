import json

extractions = [
    '{"date": "2024-05-01", "total": 240, "owner": "ops"}',
    '{"date": "2024-05-01", "total": "240", "owner": null}',
    'not json at all',
    '{"date": "2024-05-02", "total": 240}',
]


def merge(texts):
    votes, broken = {}, 0
    for text in texts:
        try:
            data = json.loads(text)
        except json.JSONDecodeError:
            broken += 1
            continue
        for key, value in data.items():
            if value is None:
                continue
            if isinstance(value, str) and value.isdigit():
                value = int(value)
            votes.setdefault(key, {}).setdefault(value, 0)
            votes[key][value] += 1
    return {k: max(v.items(), key=lambda kv: kv[1]) for k, v in votes.items()}, broken


merged, broken = merge(extractions)
for key, (value, count) in merged.items():
    print(f"{key:<6} {value!r:<14} {count} vote{'s' if count != 1 else ''}")
print("broken:", broken)
if any(count < 2 for _, count in merged.values()):
    unsure = [k for k, (_, c) in merged.items() if c < 2]
    print("unsure about", unsure, "->", llm_query(f"What is the {unsure[0]}?\n{context[:300]}"))
