values = [3, 1, 2]
list = sorted(values)
print(list)
print(list("abc"))
