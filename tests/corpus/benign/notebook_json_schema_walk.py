import json

document = json.loads("""
{"users": [{"name": "ada", "roles": ["admin", "dev"], "age": 36, "address": {"city": "London", "geo": [51.5, -0.1]}},
           {"name": "bob", "roles": [], "age": null, "address": null},
           {"name": "cy", "age": "40", "extra": true}],
 "version": 2}
""")


def shape(value):
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case []:
            return "[]"
        case [*items]:
            kinds = sorted({json.dumps(shape(i), sort_keys=True) for i in items})
            return [json.loads(k) for k in kinds]
        case {}:
            return {k: shape(v) for k, v in value.items()}


print(json.dumps(shape(document["users"][0]), indent=1))
fields = {}
for user in document["users"]:
    for key in user:
        fields.setdefault(key, []).append(shape(user[key]) if not isinstance(user[key], (dict, list)) else type(user[key]).__name__)
for key, kinds in fields.items():
    print(f"{key:<8} in {len(kinds)}/3: {', '.join(dict.fromkeys(kinds))}")


def dig(value, path, default=None):
    for part in path.split("."):
        try:
            value = value[int(part)] if part.isdigit() else value[part]
        except (KeyError, IndexError, TypeError):
            return default
    return value


print(dig(document, "users.0.address.geo.1"), dig(document, "users.1.address.city", "-"), dig(document, "users.7"), dig(document, "version"))
