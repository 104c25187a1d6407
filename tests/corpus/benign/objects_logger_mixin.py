import io
import json


class LogMixin:
    stream = io.StringIO()

    def log(self, message, *args, level="INFO"):
        print(f"{level:<5} {type(self).__name__}: {message % args}", file=self.stream)


class JsonMixin:
    def to_json(self):
        return json.dumps({k: v for k, v in vars(self).items() if not k.startswith("_")}, sort_keys=True)

    @classmethod
    def from_json(cls, text):
        self = cls.__new__(cls)
        self.__dict__.update(json.loads(text))
        return self


class CompareMixin:
    def __eq__(self, other):
        return type(self) is type(other) and self.to_json() == other.to_json()


class Task(LogMixin, CompareMixin, JsonMixin):
    def __init__(self, title, hours=1):
        self.title, self.hours = title, hours
        self._done = False
        self.log("created %r (%d h)", title, hours)

    def finish(self):
        if self._done:
            self.log("%s was done already", self.title, level="WARN")
        self._done = True


t = Task("write tests", 3)
t.finish()
t.finish()
copy = Task.from_json(t.to_json())
print(t.to_json(), copy == t, copy is t, copy == "x", hasattr(copy, "_done"))
print(LogMixin.stream.getvalue())
