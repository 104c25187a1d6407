def normalise(weights):
    total = sum(weights.values())
    return {k: v / total for k, v in weights.items()}

weights = normalise({"a": 2, "b": 6})
print(weights)
assert abs(sum(weights.values()) - 1) < 1e-9
assert weights["a"] > weights["b"], f"a should weigh more: {weights}"
print("not reached")
