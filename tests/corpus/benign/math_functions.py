import math
print(math.sqrt(2), math.pi, math.e, math.floor(-1.5), math.ceil(1.2), math.gcd(12, 18), math.lcm(4, 6))
print(math.factorial(20), math.comb(5, 2), math.perm(5, 2), math.log(100, 10), math.log2(8), math.isclose(0.1 + 0.2, 0.3))
print(math.degrees(math.pi), round(math.sin(math.radians(30)), 10), math.hypot(3, 4), math.inf > 10**100, math.isnan(math.nan))
print(math.prod([1, 2, 3, 4]), math.fsum([0.1] * 10), math.trunc(-2.7), math.copysign(1, -0.0), math.dist((0, 0), (1, 1)))
