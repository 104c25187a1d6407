class Settings:
    def __init__(self):
        self.name = "demo"
        self._cache = {"a": 1}


s = Settings()
print(getattr(s, "name", None), getattr(s, "_cache", None), getattr(s, "_missing", "nothing"), getattr(s, "timeout", 30))
print(hasattr(s, "_cache"), hasattr(s, "_missing"), hasattr(len, "__name__"), hasattr("x", "_private"), hasattr([], "append"))
print(getattr("text", "_secret", None), getattr(5, "real"), getattr([], "missing", []), getattr(dict, "_x", 0))
for name in ("title", "shout"):
    method = getattr("some words", name, None)
    print(name, method() if callable(method) else "is not available")
try:
    s.missing
except AttributeError as e:
    print(e, "|", e.name)
try:
    [].push(1)
except AttributeError as e:
    print(e)
setattr(s, "_level", 3)
setattr(s, "level", s._level + 1)
print(sorted(vars(s)), s.level)
delattr(s, "level")
print(hasattr(s, "level"), "_level" in vars(s), sorted(k for k in dir(s) if not k.startswith("__")))
