REGISTRY = {}

def register(name):
    def wrap(cls):
        REGISTRY[name] = cls
        cls.registered_as = name
        return cls
    return wrap

@register("upper")
class Upper:
    def run(self, text):
        return text.upper()

@register("reverse")
class Reverse:
    def run(self, text):
        return text[::-1]

for name, cls in sorted(REGISTRY.items()):
    print(name, cls.__name__, cls.registered_as, cls().run("Hello"))
