import sys
import gc

data = [list(range(10)) for _ in range(100)]
size = sys.getsizeof(data)
print(size > 0, sys.getsizeof([]) < sys.getsizeof([0] * 100), sys.getsizeof("a") < sys.getsizeof("a" * 1000))
del data
print(gc.collect() >= 0)
