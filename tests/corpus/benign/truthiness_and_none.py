values = [0, 1, "", "a", [], [0], {}, None, 0.0, (), range(0), "False"]
print([bool(v) for v in values])
print([v or "default" for v in values[:4]], None is None, not [], 1 == True, values is not None)
x = None
name = x if x is not None else "anon"
print(name, (x or {}).get("k", "nothing"), 0 < 5 < 10, 1 < 2 > 0, "a" in "abc" and "z" not in "abc")
