import json

path = "results/latest.json"
print(f"reading {path}")
with open(path) as f:
    data = json.load(f)
print(len(data))
