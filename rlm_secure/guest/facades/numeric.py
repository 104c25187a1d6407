"""Numbers: math, cmath, statistics, random, decimal, fractions, numbers."""

from __future__ import annotations

import cmath
import decimal
import fractions
import math
import numbers
import random
import statistics

from .facade import facade

# Every name is a C function or a constant. They call __float__, __index__, __floor__ of their arguments and nothing
# else by name. factorial(10**8) is a matter of the wall clock, not of the language.
MATH = facade(
    "math",
    math,
    take="acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 "
    "expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp "
    "lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan tanh tau "
    "trunc ulp",
    newer="sumprod fma",
)

CMATH = facade(
    "cmath",
    cmath,
    take="acos acosh asin asinh atan atanh cos cosh e exp inf infj isclose isfinite isinf isnan log log10 nan nanj "
    "phase pi polar rect sin sinh sqrt tan tanh tau",
)

# Python code, but all of __all__: it computes with the values that it is given, and reads no attribute by string.
# The module itself would lead to sys (statistics.sys), which is why nothing else is taken.
STATISTICS = facade(
    "statistics",
    statistics,
    take="NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean linear_regression mean "
    "median median_grouped median_high median_low mode multimode pstdev pvariance quantiles stdev variance",
    newer="kde kde_random",
)

#: The session's own generator, behind every module-level function: random.seed moves nobody else's numbers.
GENERATOR = random.Random()  # cells simulate and sample; nothing secret is made here

_DRAWS = (
    "betavariate choice choices expovariate gammavariate gauss getrandbits getstate lognormvariate normalvariate "
    "paretovariate randbytes randint random randrange sample seed setstate shuffle triangular uniform "
    "vonmisesvariate weibullvariate"
)

RANDOM = facade(
    "random",
    random,
    take="Random",
    own={
        name: getattr(GENERATOR, name)
        for name in (*_DRAWS.split(), "binomialvariate")
        if hasattr(GENERATOR, name)  # binomialvariate is new in 3.12
    },
    left_out={"SystemRandom": "it draws from the kernel and cannot be repeated; use random.Random"},
)

# getcontext() is shared by the cells of one session, as in plain Python, and by nothing else: one process, one session.
DECIMAL = facade(
    "decimal",
    decimal,
    take="Clamped Context ConversionSyntax Decimal DecimalException DecimalTuple DivisionByZero DivisionImpossible "
    "DivisionUndefined FloatOperation HAVE_CONTEXTVAR HAVE_THREADS Inexact InvalidContext InvalidOperation MAX_EMAX "
    "MAX_PREC MIN_EMIN MIN_ETINY Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN "
    "ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded Subnormal Underflow getcontext localcontext setcontext",
    left_out={
        "BasicContext DefaultContext ExtendedContext": "a mutable object of the module; make a decimal.Context(...)"
    },
)

FRACTIONS = facade("fractions", fractions, take="Fraction")

# `register` of an ABC changes what isinstance says, in this session's process only. The guest's own decisions rest
# on exact types, never on an ABC.
NUMBERS = facade("numbers", numbers, take="Complex Integral Number Rational Real")
