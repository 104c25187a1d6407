class Emitter:
    def __init__(self):
        self._handlers = {}

    def on(self, event):
        def register(fn):
            self._handlers.setdefault(event, []).append(fn)
            return fn
        return register

    def emit(self, event, *args, **kwargs):
        return [handler(*args, **kwargs) for handler in self._handlers.get(event, [])]

bus = Emitter()

@bus.on("greet")
def hello(name):
    return f"hello {name}"

@bus.on("greet")
def shout(name, times=2):
    return name.upper() * times

print(bus.emit("greet", "bob"), bus.emit("nothing"))
