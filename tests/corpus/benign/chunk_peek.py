print(type(context), len(context))
print(context[:200])
print("...")
print(context[-200:])
lines = context.split("\n")
print("lines:", len(lines), "| average length:", round(sum(map(len, lines)) / len(lines), 2))
non_empty = [l for l in lines if l.strip()]
print("non-empty:", len(non_empty))
