import json
document = json.loads("""{"a": {"b": [1, {"c": "deep"}], "d": null}, "e": [[], {}, "x"]}""")

def walk(node, path="$"):
    if isinstance(node, dict):
        for key, value in node.items():
            yield from walk(value, f"{path}.{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from walk(value, f"{path}[{index}]")
    else:
        yield path, node

for path, leaf in walk(document):
    print(path, "=", repr(leaf))
