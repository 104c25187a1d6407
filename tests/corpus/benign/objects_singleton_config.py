class Config:
    _instance = None

    def __new__(cls, *args, **kwargs):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __init__(self, **values):
        if not hasattr(self, "_values"):
            self._values = {}
        self._values.update(values)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"no setting called {name!r}") from None

    def __contains__(self, name):
        return name in self._values


a = Config(debug=True, retries=3)
b = Config(retries=5)
print(a is b, a.retries, b.debug, "debug" in b)
try:
    a.missing
except AttributeError as e:
    print("AttributeError:", e)
print(getattr(a, "missing", "default"), hasattr(a, "retries"), hasattr(a, "_nothing"))
