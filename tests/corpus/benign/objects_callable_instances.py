class Polynomial:
    def __init__(self, *coefficients):
        self.c = list(coefficients)

    def __call__(self, x):
        result = 0
        for a in reversed(self.c):
            result = result * x + a
        return result

    def derivative(self):
        return Polynomial(*(i * a for i, a in enumerate(self.c) if i))

    def __str__(self):
        terms = []
        for power, a in reversed(list(enumerate(self.c))):
            if not a:
                continue
            factor = "" if abs(a) == 1 and power else f"{abs(a):g}"
            variable = "" if power == 0 else "x" if power == 1 else f"x^{power}"
            sign = "-" if a < 0 else "+"
            terms.append(f"{sign} {factor}{variable}")
        text = " ".join(terms) or "0"
        return text[2:] if text.startswith("+ ") else text


p = Polynomial(-6, 11, -6, 1)
print(p, "|", p.derivative(), "|", p.derivative().derivative())
print([p(x) for x in range(5)], callable(p), callable(p.c))


def newton(f, x, steps=40):
    d = f.derivative()
    for _ in range(steps):
        x -= f(x) / d(x)
    return x


print(f"{newton(p, 0.5):.6f} {newton(p, 3.5):.6f}")
print(list(map(Polynomial(0, 0, 1), range(4))))
