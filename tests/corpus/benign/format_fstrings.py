name, values = "data", [1, 2.5, None, "s"]
width, precision = 10, 3
print(f"{name!r} {name.upper()} {len(values)} {values[1]:{width}.{precision}} {values!s}")
print(f"{name=} {1 + 1 = } {', '.join(str(v) for v in values)}")
print(f"{'yes' if values else 'no'} {{braces}} {values[-1]}{'' if len(values) == 1 else 's'}")
print(f"""multi
line {name:>8}
""" f"joined {(lambda x: x * 2)(4)}")
d = {"k": {"n": 5}}
print(f"{d['k']['n']:>4} {d.get('z', 'default')}")
