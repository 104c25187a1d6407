class Registry:
    def __init__(self):
        self._handlers = {}

    def __getitem__(self, name):
        try:
            return self._handlers[name]
        except KeyError:
            raise LookupError(f"nothing registered as {name!r}") from None

    def register(self, name):
        def keep(f):
            self._handlers[name] = f
            return f
        return keep


registry = Registry()


@registry.register("hello")
def hello():
    return "hi"


print(registry["hello"]())
print(registry["bye"]())
