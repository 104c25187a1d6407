events = [
    {"kind": "click", "pos": [10, 20]},
    {"kind": "key", "key": "Enter", "mods": ["ctrl", "alt"]},
    {"kind": "key", "key": "a"},
    {"kind": "scroll"},
]
for event in events:
    match event:
        case {"kind": "click", "pos": [x, y]}:
            print("click at", x, y)
        case {"kind": "key", "key": key, "mods": [*mods]}:
            print("chord", "+".join(mods + [key]))
        case {"kind": "key", "key": str() as key}:
            print("key", key)
        case {"kind": kind}:
            print("other", kind)
