raw = """ID  NAME      AMT
001 Widget     12.50
002 Gadget    100.00
003 Doohickey   7.99"""
header, *body = raw.splitlines()
spec = [("id", 0, 4), ("name", 4, 14), ("amt", 14, None)]
items = [{name: line[a:b].strip() for name, a, b in spec} for line in body]
for item in items:
    item["amt"] = float(item["amt"])
print(items)
print(f"total {sum(i['amt'] for i in items):.2f}")
