from itertools import groupby


def encode(text):
    return "".join(f"{len(list(g))}{ch}" for ch, g in groupby(text))


def decode(text):
    out, digits = [], ""
    for ch in text:
        if ch.isdigit():
            digits += ch
        else:
            out.append(ch * int(digits))
            digits = ""
    return "".join(out)


for sample in ("aaabccd", "x", "", "wwwwwwwwwwwwb"):
    packed = encode(sample)
    assert decode(packed) == sample
    print(f"{sample!r:<18}{packed!r}")

old = {"host": "a", "port": 80, "debug": True, "tags": ["x"]}
new = {"host": "b", "port": 80, "tags": ["x", "y"], "user": "root"}
for key in sorted(old.keys() | new.keys()):
    match (key in old, key in new):
        case True, False:
            print(f"- {key}: {old[key]!r}")
        case False, True:
            print(f"+ {key}: {new[key]!r}")
        case _ if old[key] != new[key]:
            print(f"~ {key}: {old[key]!r} -> {new[key]!r}")
