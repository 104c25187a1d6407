import json
from pprint import pformat, pprint
data = {"z": [1, 2, {"deep": list(range(12))}], "a": "text", "m": {"x": None, "y": True}}
print(pformat(data, width=50))
print(json.dumps(data, indent=1, separators=(",", ": ")))
print(pformat({"b": 1, "a": 2}, sort_dicts=False))
