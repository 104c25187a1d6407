records = [{"id": 1, "price": 10.0}, {"id": 2, "price": 12.5}, {"id": 3, "cost": 7}]
total = 0.0
for record in records:
    print(f"adding {record['id']}")
    total += record["price"]
print("total", total)
