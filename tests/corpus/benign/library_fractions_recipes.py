from fractions import Fraction
import math

recipe = {"flour (cups)": Fraction(9, 4), "sugar (cups)": Fraction(3, 4), "eggs": Fraction(2), "salt (tsp)": Fraction(1, 2)}


def mixed(f):
    whole, rest = divmod(f.numerator, f.denominator)
    if not rest:
        return str(whole)
    return f"{whole} {rest}/{f.denominator}" if whole else f"{rest}/{f.denominator}"


for servings in (4, 6, 3):
    scaled = {name: amount * Fraction(servings, 4) for name, amount in recipe.items()}
    print(servings, {name: mixed(amount) for name, amount in scaled.items()})
print(sum(recipe.values()), float(sum(recipe.values())), Fraction("0.125"), Fraction(0.5), Fraction(22, 7) - Fraction(math.pi).limit_denominator(100))
print(Fraction(math.pi).limit_denominator(1000), round(Fraction(7, 2)), Fraction(3, 4) ** 2, Fraction(-1, 3) < 0)


def continued(f):
    while True:
        whole = f.numerator // f.denominator
        yield whole
        if (f := f - whole) == 0:
            return
        f = 1 / f


print(list(continued(Fraction(415, 93))))
try:
    Fraction(1, 0)
except ZeroDivisionError as e:
    print(e)
