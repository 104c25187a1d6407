import json

payload = '{"users": [{"id": 1, "tags": ["a", "b"], "active": true}, {"id": 2, "tags": [], "active": false}], "next": null}'
data = json.loads(payload)
for user in data["users"]:
    user["tags"].append("new")
    user["n_tags"] = len(user["tags"])
data["count"] = len(data["users"])
print(json.dumps(data, indent=2, sort_keys=True))
print(json.dumps("Zażółć 🦊", ensure_ascii=False), json.dumps({1: (2, 3)}))
try:
    json.loads("{bad json}")
except json.JSONDecodeError as e:
    print("invalid:", e.msg, e.lineno, e.colno)
