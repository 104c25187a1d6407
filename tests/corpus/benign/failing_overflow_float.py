x = 10.0
for _ in range(4):
    print(x)
    x = x ** 10
print("survived")
y = 2.0 ** 5000
