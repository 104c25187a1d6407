template = "{name} is {age:d} years old and {height:.1f} m tall{0}"
print(template.format("!", name="Ada", age=36, height=1.654))
print("{0[0]}-{0[1]} {1[key]} {2.real} {2.imag}".format([1, 2], {"key": "v"}, 3 + 4j))
print("{:{fill}{align}{width}}".format("mid", fill="*", align="^", width=9))
print("{a}/{b}".format_map({"a": 1, "b": 2}), "{{literal}} {}".format(5), "{!r:>8}".format("x"))
print(str.format("{:>5}|{:<5}", 1, 2))
rows = ["{:<8}{:>6.1%}".format(k, v) for k, v in {"x": 0.123, "y": 1}.items()]
print("\n".join(rows))
