try:
    import numpy_ng as np
except ImportError:
    np = None

try:
    from tqdm_for_tests import tqdm
except ImportError:
    def tqdm(iterable, **kwargs):
        return iterable


def mean(values):
    if np is not None:
        return float(np.mean(values))
    return sum(values) / len(values)


data = [len(line) for line in tqdm(context.splitlines(), desc="lines") if line]
print(f"{mean(data):.2f}", "numpy" if np else "pure python")
try:
    import yaml_for_tests
except ModuleNotFoundError as e:
    print(type(e).__name__, e.name, "yaml_for_tests" in str(e))
