import json
import pandas as pd

df = pd.read_json("events.json")
print(df.dtypes, df.shape)
print(df.head(3))
records = json.loads(df.head(2).to_json(orient="records"))
print(records)
flat = pd.json_normalize([{"id": 1, "user": {"name": "Ann", "tags": ["a", "b"]}}, {"id": 2, "user": {"name": "Ben", "tags": []}}])
print(flat)
print(pd.json_normalize({"order": 7, "items": [{"sku": "x", "n": 1}, {"sku": "y", "n": 2}]}, record_path="items", meta=["order"]))
df.head(5).to_json("head.json", orient="records", indent=2)
print(pd.read_json("head.json").equals(df.head(5)))
