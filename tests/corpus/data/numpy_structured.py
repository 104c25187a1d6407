import numpy as np

people = np.array([("Ann", 30, 55.5), ("Ben", 25, 80.0)], dtype=[("name", "U10"), ("age", "i4"), ("weight", "f8")])
print(people["name"], people["age"].mean(), people[people["age"] > 26]["name"], np.sort(people, order="age")["name"], people.dtype.names)
people["age"] += 1
print(people[0], people[0]["name"], people.dtype["age"], people.shape, people.tolist())
people.sort(order="weight")
print(people["name"], np.zeros(2, dtype="i4,f8"))
