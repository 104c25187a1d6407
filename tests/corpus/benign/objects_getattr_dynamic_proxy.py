class Record:
    """A dict whose keys are attributes as well."""

    def __init__(self, data):
        self.__dict__["_data"] = dict(data)

    def __getattr__(self, name):
        try:
            value = self._data[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__!r} has no field {name!r}")
        return Record(value) if isinstance(value, dict) else value

    def __setattr__(self, name, value):
        self._data[name] = value

    def __delattr__(self, name):
        del self._data[name]

    def __dir__(self):
        return sorted(self._data)

    def __repr__(self):
        return f"Record({self._data})"


r = Record({"name": "Ada", "address": {"city": "London", "zip": "N1"}})
print(r.name, r.address.city, r)
r.age = 36
del r.name
print(r, dir(r), getattr(r, "name", "gone"))
for attribute in ("age", "height"):
    try:
        print(attribute, getattr(r, attribute))
    except AttributeError as e:
        print(e)
