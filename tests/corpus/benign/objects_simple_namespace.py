from types import SimpleNamespace, MappingProxyType

settings = SimpleNamespace(host="localhost", port=8080, tags=["a"])
settings.port += 1
settings.debug = True
print(settings)
print(settings == SimpleNamespace(host="localhost", port=8081, tags=["a"], debug=True))
print(vars(settings), sorted(vars(settings)))
for key, value in vars(settings).items():
    print(f"{key:<6} {type(value).__name__:<5} {value}")
del settings.debug
print(hasattr(settings, "debug"), getattr(settings, "debug", None))
nested = SimpleNamespace(**{"inner": SimpleNamespace(x=1), "name": "outer"})
print(nested.inner.x, nested)
frozen = MappingProxyType({"a": 1})
print(frozen["a"], dict(frozen), len(frozen), "b" in frozen)
try:
    frozen["b"] = 2
except TypeError as e:
    print("TypeError")
