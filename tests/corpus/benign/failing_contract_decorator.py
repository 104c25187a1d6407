import functools


class ContractError(AssertionError):
    pass


def returns(kind):
    def decorate(f):
        @functools.wraps(f)
        def wrapper(*args):
            result = f(*args)
            if not isinstance(result, kind):
                raise ContractError(f"{f.__name__}{args} gave {type(result).__name__}, not {kind.__name__}")
            return result
        return wrapper
    return decorate


@returns(float)
def ratio(a, b):
    return a / b if b else "infinite"


print(ratio(1, 2))
print(ratio(3, 4))
print(ratio(1, 0))
