class Observable:
    def __init__(self, **fields):
        self._fields = dict(fields)
        self._watchers = {}

    def watch(self, name, callback):
        self._watchers.setdefault(name, []).append(callback)

    def __getattr__(self, name):
        fields = self.__dict__.get("_fields", {})
        if name in fields:
            return fields[name]
        raise AttributeError(f"{type(self).__name__} has no field {name}")

    def set(self, **changes):
        for name, new in changes.items():
            old = self._fields.get(name)
            if old == new:
                continue
            self._fields[name] = new
            for callback in self._watchers.get(name, []) + self._watchers.get("*", []):
                callback(name, old, new)


log = []
sensor = Observable(temperature=20, unit="C")
sensor.watch("temperature", lambda n, old, new: log.append(f"{old}->{new}"))
sensor.watch("*", lambda name, old, new: print(f"{name}: {old!r} => {new!r}"))
sensor.set(temperature=21)
sensor.set(temperature=21, unit="F")
sensor.set(label="roof")
print(log, sensor.temperature, sensor.label, hasattr(sensor, "missing"))
try:
    sensor.pressure
except AttributeError as e:
    print(e)
