def make_account(balance=0):
    history = []

    def deposit(amount):
        nonlocal balance
        balance += amount
        history.append(("+", amount))
        return balance

    def withdraw(amount):
        nonlocal balance
        if amount > balance:
            raise ValueError(f"only {balance}")
        balance -= amount
        history.append(("-", amount))
        return balance

    return {"deposit": deposit, "withdraw": withdraw, "history": lambda: list(history)}


a, b = make_account(10), make_account()
a["deposit"](5)
b["deposit"](1)
print(a["withdraw"](12), b["history"](), a["history"]())
try:
    b["withdraw"](2)
except ValueError as e:
    print(e)
adders = [lambda x, n=n: x + n for n in range(3)]
late = [lambda x: x + n for n in range(3)]
print([f(10) for f in adders], [f(10) for f in late])


def curry(f, *args):
    return lambda *more: f(*args, *more)


def apply_all(x, /, *functions, start="|", **named):
    return start.join([str(f(x)) for f in functions] + [f"{k}={f(x)}" for k, f in sorted(named.items())])


print(curry(max, 3)(1, 7), apply_all(4, str, float, start="; ", double=lambda x: x * 2, half=lambda x: x / 2))
first, *middle, (x, y) = [1, 2, 3, (4, 5)]
print(first, middle, x, y, [*range(3), *"ab"], {**{"a": 1}, "b": 2}, (lambda *a, **k: (a, k))(1, z=2))
