try:
    import numpy_that_is_not_installed as np
    HAVE = True
except ImportError:
    np = None
    HAVE = False
mean = (lambda xs: float(np.mean(xs))) if HAVE else (lambda xs: sum(xs) / len(xs))
print(HAVE, mean([1, 2, 3, 4]))
