class Lazy:
    def __init__(self, compute):
        self._compute = compute
        self.__name__ = compute.__name__
        self.__doc__ = compute.__doc__

    def __get__(self, instance, owner):
        if instance is None:
            return self
        value = self._compute(instance)
        instance.__dict__[self.__name__] = value
        return value


class Document:
    computed = 0

    def __init__(self, text):
        self.text = text

    @Lazy
    def words(self):
        """The words."""
        type(self).computed += 1
        return self.text.split()

    @Lazy
    def vocabulary(self):
        return {w.lower().strip(".,") for w in self.words}


d = Document("The cat, the dog and the bird.")
print(len(d.words), len(d.words), Document.computed, sorted(d.vocabulary))
print(sorted(d.__dict__), Document.words.__doc__)
