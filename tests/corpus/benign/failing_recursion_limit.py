def countdown(n):
    return countdown(n - 1) if n else "done"

print(countdown(50))

def forever(n):
    return forever(n + 1)

forever(0)
