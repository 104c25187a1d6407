import random

SEED = 17
random.seed(SEED)
constants = {k: v for k, v in globals().items() if k.isupper() and not k.startswith("_") and isinstance(v, int)}
print(constants)


def configure(**overrides):
    settings = {"retries": 2, "verbose": False}
    settings.update(overrides)
    return settings


def describe(name, size, *, unit="px"):
    return "{name} is {size}{unit}".format(**locals())


print(__name__, describe("box", 3), configure(verbose=True))
print([name for name in ("SEED", "MISSING") if name in globals()], random.randint(1, 100))
