import math


def derivative(f, h=1e-6):
    return lambda x: (f(x + h) - f(x - h)) / (2 * h)


def newton(f, x, tolerance=1e-12, limit=50):
    d = derivative(f)
    for i in range(limit):
        step = f(x) / d(x)
        x -= step
        if abs(step) < tolerance:
            return x, i + 1
    raise ArithmeticError(f"no root found after {limit} steps")


def simpson(f, a, b, n=100):
    h = (b - a) / n
    return h / 3 * sum((1 if i in (0, n) else 4 if i % 2 else 2) * f(a + i * h) for i in range(n + 1))


for name, f, start in (("x²-2", lambda x: x * x - 2, 1), ("cos x - x", lambda x: math.cos(x) - x, 1), ("x²+1", lambda x: x * x + 1, 0.5)):
    try:
        root, steps = newton(f, start)
        print(f"{name:<10}{root:.9f}")
    except ArithmeticError as e:
        print(f"{name:<10}{type(e).__name__}: {e}")
print(f"{simpson(math.sin, 0, math.pi):.8f} {simpson(lambda x: math.exp(-x * x), -5, 5):.6f} {math.sqrt(math.pi):.6f}")


def euler(f, y, t_end, dt):
    t = 0
    while t < t_end - 1e-12:
        y += dt * f(t, y)
        t += dt
    return y


print([round(euler(lambda t, y: -y, 1.0, 1.0, dt), 5) for dt in (0.1, 0.01, 0.001)], round(math.exp(-1), 5))
