import sys
print("py3" if sys.version_info.major == 3 else "py2", sys.version_info[:1], "." in sys.version, sys.maxunicode, sys.float_info.max > 1e300, sys.getsizeof("a") > 10, sys.stdin is None)
if hasattr(sys, "set_int_max_str_digits"): sys.set_int_max_str_digits(0)
print(len(str(2 ** 20000)))
