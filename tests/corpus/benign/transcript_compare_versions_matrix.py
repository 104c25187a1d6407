import re
from itertools import groupby

requirements = """
alpha>=1.2,<2.0
beta==3.1.4
gamma~=0.9.2
delta
epsilon!=1.0,>0.9
"""
available = {"alpha": ["1.1", "1.10", "2.0"], "beta": ["3.1.4", "3.2"], "gamma": ["0.9.1", "0.9.9", "0.10"], "delta": ["5"], "epsilon": ["0.9", "1.0", "1.0.1"]}


def key(version):
    return tuple(int(p) for p in version.split("."))


def pad(a, b):
    n = max(len(a), len(b))
    return a + (0,) * (n - len(a)), b + (0,) * (n - len(b))


def allowed(version, op, wanted):
    v, w = pad(key(version), key(wanted))
    match op:
        case "==":
            return v == w
        case "!=":
            return v != w
        case ">=":
            return v >= w
        case "<=":
            return v <= w
        case ">":
            return v > w
        case "<":
            return v < w
        case "~=":
            prefix = key(wanted)[:-1]
            return v >= w and v[: len(prefix)] == prefix
    raise ValueError(op)


for line in requirements.split():
    name, rest = re.match(r"(\w+)(.*)", line).groups()
    specs = re.findall(r"([=!<>~]=|[<>])([\d.]+)", rest)
    fitting = [v for v in available[name] if all(allowed(v, op, w) for op, w in specs)]
    print(f"{name:<9}{rest or '(any)':<14}{max(fitting, key=key) if fitting else 'none':<8}{fitting}")
versions = sorted((v for vs in available.values() for v in vs), key=key)
print([(major, len(list(g))) for major, g in groupby(versions, key=lambda v: key(v)[0])])
