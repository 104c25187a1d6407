import warnings
import functools


def deprecated(replacement):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            warnings.warn(f"{function.__name__} is deprecated, use {replacement}", DeprecationWarning, stacklevel=2)
            return function(*args, **kwargs)
        return wrapper
    return decorate


@deprecated("mean()")
def average(values):
    return sum(values) / len(values)


warnings.filterwarnings("ignore", category=DeprecationWarning)
print(average([1, 2, 3]))
warnings.warn("three values are few")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    average([4, 6])
    warnings.warn("careful", UserWarning)
print([(w.category.__name__, str(w.message)) for w in caught])
