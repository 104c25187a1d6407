from collections import defaultdict
from typing import Any, Callable


class Emitter:
    def __init__(self):
        self._handlers: dict[str, list[Callable[..., Any]]] = defaultdict(list)

    def on(self, event, handler=None):
        if handler is None:
            def register(function):
                self._handlers[event].append(function)
                return function
            return register
        self._handlers[event].append(handler)
        return lambda: self._handlers[event].remove(handler)

    def emit(self, event, *args, **kwargs):
        return [handler(*args, **kwargs) for handler in self._handlers[event]]


bus = Emitter()
seen = []


@bus.on("sale")
def record(amount, *, currency="EUR"):
    seen.append(amount)
    return f"{amount} {currency}"


off = bus.on("sale", lambda amount, **_: amount * 2)
print(bus.emit("sale", 10), bus.emit("sale", 5, currency="CHF"))
off()
print(bus.emit("sale", 1), bus.emit("nothing"), seen)
print(record.__name__, callable(off), sorted(bus._handlers))
