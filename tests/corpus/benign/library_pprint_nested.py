from pprint import pprint, pformat

config = {
    "service": {"name": "report", "ports": [8080, 8081], "tags": ("a", "b")},
    "limits": {"memory": 512, "cpu": 2, "labels": {"team": "data", "stage": "test", "owner": "someone with a long name"}},
    "users": [{"name": f"user{i}", "roles": ["reader", "writer"][: i % 3]} for i in range(3)],
}
pprint(config)
pprint(config, width=50, compact=True, sort_dicts=False)
pprint(config, depth=1)
text = pformat(config["limits"], indent=2)
print(len(text.splitlines()), text.splitlines()[0])
pprint(["short", "list"])
pprint({"z": 1, "a": {3, 1, 2}})
