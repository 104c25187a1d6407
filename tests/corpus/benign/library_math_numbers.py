import math
import cmath

print(math.gcd(12, 18), math.lcm(4, 6), math.isqrt(17), math.comb(10, 3), math.perm(5, 2), math.prod([2, 3, 4]))
print(round(math.log2(1000), 4), math.log(8, 2), math.log10(0.001), math.exp(0), math.trunc(-2.7), math.copysign(3, -1))
print(math.fsum([0.1] * 10) == 1.0, abs(sum([0.1] * 10) - 1) < 1e-12, math.isclose(1e9, 1e9 + 1), math.frexp(8), math.modf(3.25))
print(math.inf > 10 ** 308, math.isnan(float("nan")), math.nan != math.nan, math.tau / math.pi, f"{math.e:.10f}")
roots = lambda a, b, c: [(-b + s * cmath.sqrt(b * b - 4 * a * c)) / (2 * a) for s in (1, -1)]
print(roots(1, -3, 2), roots(1, 0, 4), abs(3 + 4j), (1 + 2j).conjugate(), round(cmath.phase(1j), 4))
for bad in (lambda: math.sqrt(-1), lambda: math.log(0), lambda: math.factorial(-1)):
    try:
        bad()
    except ValueError as e:
        print(type(e).__name__)
try:
    math.exp(1000)
except OverflowError as e:
    print("OverflowError:", e)
print(0.1 + 0.2, round(2.5), round(-3.5), round(1234.567, -2), 7 // -2, -7 % 3, divmod(-7, 3), int("ff", 16), 2 ** -1)
