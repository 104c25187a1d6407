"""Numbers: math, cmath, statistics, random, decimal, fractions, numbers, colorsys."""

from __future__ import annotations

import cmath
import colorsys
import decimal
import fractions
import math
import numbers
import random
import statistics

from . import contexts
from .data import functions, is_final, takes_data
from .facade import facade

# Every name is a C function or a constant. They only call __float__, __index__, __floor__ and similar methods of their
# arguments. factorial(10**8) is limited by the wall-clock time, not by this layer.
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

# Python code that calls type(item)(...) and item.as_integer_ratio(), so it gets data. Functions that only sort and
# count take anything: members of an enum have a mode. The module itself would lead to sys (statistics.sys).
STATISTICS = facade(
    "statistics",
    statistics,
    take="NormalDist StatisticsError median_high median_low mode multimode",
    own=functions(
        statistics,
        "correlation covariance fmean geometric_mean harmonic_mean kde kde_random linear_regression mean median "
        "median_grouped pstdev pvariance quantiles stdev variance",
    ),
)
is_final(statistics.NormalDist)  # its two numbers are always floats

#: The session's own generator, used by every module-level function: random.seed affects no other code.
GENERATOR = random.Random()  # cells simulate and sample; nothing secret is made here

_DRAWS = (
    "betavariate choice choices expovariate gammavariate gauss getstate lognormvariate normalvariate paretovariate "
    "randbytes randint randrange sample seed setstate shuffle triangular uniform vonmisesvariate weibullvariate"
)

# The population may contain any objects; all other arguments are numbers.
_OPAQUE = {"choice": "*", "choices": "population", "sample": "population", "shuffle": "*"}

RANDOM = facade(
    "random",
    random,
    take="Random",
    own={
        name: takes_data(getattr(GENERATOR, name), title=f"random.{name}", opaque=_OPAQUE.get(name, ""))
        for name in (*_DRAWS.split(), "binomialvariate")
        if hasattr(GENERATOR, name)  # binomialvariate is new in 3.12
    }
    | {"getrandbits": GENERATOR.getrandbits, "random": GENERATOR.random},  # C
    left_out={"SystemRandom": "it draws from the kernel and cannot be repeated; use random.Random"},
)

# getcontext() is shared by the cells of one session, as in plain Python, and by nothing else: a session is a process.
DECIMAL = facade(
    "decimal",
    decimal,
    take="Clamped Context ConversionSyntax Decimal DecimalException DecimalTuple DivisionByZero DivisionImpossible "
    "DivisionUndefined FloatOperation HAVE_CONTEXTVAR HAVE_THREADS Inexact InvalidContext InvalidOperation MAX_EMAX "
    "MAX_PREC MIN_EMIN MIN_ETINY Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN "
    "ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded Subnormal Underflow getcontext",
    own={"localcontext": contexts.localcontext, "setcontext": contexts.setcontext},
    left_out={
        "BasicContext DefaultContext ExtendedContext": "a mutable object of the module; make a decimal.Context(...)"
    },
)

FRACTIONS = facade("fractions", fractions, take="Fraction")

# `register` of an ABC changes the result of isinstance, but only in this session's process. The guards decide by exact
# types, never by an ABC.
NUMBERS = facade("numbers", numbers, take="Complex Integral Number Rational Real")

COLORSYS = facade(
    "colorsys", colorsys, own=functions(colorsys, "hls_to_rgb hsv_to_rgb rgb_to_hls rgb_to_hsv rgb_to_yiq yiq_to_rgb")
)
