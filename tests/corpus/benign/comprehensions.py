matrix = [[i * j for j in range(1, 4)] for i in range(1, 4)]
print(matrix)
print([x for row in matrix for x in row if x % 2 == 0])
print({x: [y for y in range(x) if x % (y + 1) == 0] for x in range(1, 7)})
print({c.lower() for c in "Hello World" if c.isalpha()} == set("helowrd"))
print(sum(x * x for x in range(10)), any(x > 8 for x in range(10)), all(isinstance(x, int) for x in range(3)))
print([(a, b) for a in "ab" for b in "xy" if (a, b) != ("a", "x")], [i if i % 2 else -i for i in range(5)])
print([total := 0] + [total := total + v for v in range(4)], total)
