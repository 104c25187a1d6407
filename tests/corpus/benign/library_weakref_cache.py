import weakref


class Image:
    def __init__(self, name):
        self.name = name


cache = weakref.WeakValueDictionary()
kept = Image("a.png")
cache["a"] = kept
cache["b"] = Image("b.png")
print(sorted(cache), cache["a"].name)
reference = weakref.ref(kept)
print(reference() is kept)
del kept
print(reference(), len(cache))
