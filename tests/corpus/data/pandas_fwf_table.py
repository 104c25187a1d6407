import io
import pandas as pd

print(pd.read_fwf(io.StringIO("name  age\nAnn    30\nBob     7\n")))
print(pd.read_table(io.StringIO("a\tb\n1\t2\n")))
print(pd.read_csv(io.StringIO("a b  c\n1 2  3\n"), sep=r"\s+"))
print(pd.read_csv(io.StringIO("1,2\n3,4"), header=None, names=["x", "y"], converters={"x": lambda v: int(v) * 10}))
