import warnings

warnings.simplefilter("error")


def old_api(x):
    warnings.warn("old_api is going away", DeprecationWarning)
    return x


print("before")
print(old_api(1))
