class JsonMixin:
    def to_json(self):
        import json
        return json.dumps(self.__dict__, sort_keys=True)

class CompareMixin:
    def __lt__(self, other):
        return self.key() < other.key()
    def __eq__(self, other):
        return self.key() == other.key()

class Person(JsonMixin, CompareMixin):
    def __init__(self, name, age):
        self.name, self.age = name, age
    def key(self):
        return self.age, self.name

people = [Person("Zed", 30), Person("Amy", 25), Person("Bob", 30)]
print([p.name for p in sorted(people)], max(people).to_json())
print(vars(people[0]), Person("a", 1) == Person("a", 1))
