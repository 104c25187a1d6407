def permutations(items):
    if len(items) <= 1:
        return [items]
    result = []
    for i, item in enumerate(items):
        for rest in permutations(items[:i] + items[i + 1:]):
            result.append([item] + rest)
    return result

print(permutations([1, 2, 3]))

def subsets(s):
    if not s:
        return [[]]
    rest = subsets(s[1:])
    return rest + [[s[0]] + r for r in rest]
print(sorted(subsets("abc"), key=lambda x: (len(x), x)))
