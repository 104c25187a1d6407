def mean(values):
    return sum(values) / len(values)

groups = {"a": [1, 2, 3], "b": [4], "c": []}
for name, values in groups.items():
    print(name, mean(values))
print("done")
