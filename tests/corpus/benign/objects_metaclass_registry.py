class PluginMeta(type):
    plugins = {}

    def __new__(mcls, name, bases, namespace):
        cls = super().__new__(mcls, name, bases, namespace)
        if bases:
            mcls.plugins[name.lower()] = cls
        return cls


class Plugin(metaclass=PluginMeta):
    def apply(self, text):
        raise NotImplementedError


class Upper(Plugin):
    def apply(self, text):
        return text.upper()


class Reverse(Plugin):
    def apply(self, text):
        return text[::-1]


text = "pipeline"
for name, cls in PluginMeta.plugins.items():
    text = cls().apply(text)
    print(name, text)
print(sorted(PluginMeta.plugins), type(Upper).__name__)
