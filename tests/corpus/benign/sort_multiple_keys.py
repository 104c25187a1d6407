people = [
    {"name": "Ann", "age": 31, "city": "Oslo"},
    {"name": "bob", "age": 25, "city": "Rome"},
    {"name": "Cid", "age": 31, "city": "Bern"},
]
print([p["name"] for p in sorted(people, key=lambda p: (-p["age"], p["city"]))])
print([p["name"] for p in sorted(people, key=lambda p: p["name"].lower(), reverse=True)])
people.sort(key=lambda p: p["city"])
print([p["city"] for p in people])
print(min(people, key=lambda p: p["age"])["name"], sorted("banana"), sorted([3, 1, 2], reverse=True))
