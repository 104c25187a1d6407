total = 10

def add(values):
    for v in values:
        total = total + v
    return total

print("start", total)
print(add([1, 2]))
