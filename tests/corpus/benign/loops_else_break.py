for n in range(2, 12):
    for d in range(2, n):
        if n % d == 0:
            print(f"{n}={d}*{n // d}", end=" ")
            break
    else:
        print(f"{n} prime", end=" ")
print()
i = 0
while True:
    i += 1
    if i == 3:
        continue
    if i > 5:
        break
    print(i, end=",")
else:
    print("never")
print()
for a, b in zip([1, 2, 3], "xy"):
    print(a, b)
for index in reversed(range(3)):
    print(index, end=" ")
print()
