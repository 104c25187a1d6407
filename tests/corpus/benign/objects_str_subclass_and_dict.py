class Slug(str):
    def __new__(cls, text):
        return super().__new__(cls, "-".join(text.lower().split()))

    @property
    def words(self):
        return self.split("-")


class CaseDict(dict):
    def __setitem__(self, key, value):
        super().__setitem__(key.lower(), value)

    def __getitem__(self, key):
        return super().__getitem__(key.lower())

    def __contains__(self, key):
        return super().__contains__(key.lower())

    def __missing__(self, key):
        return f"<no {key}>"


class Histogram(dict):
    def __missing__(self, key):
        return 0

    def top(self, n):
        return sorted(self.items(), key=lambda kv: (-kv[1], kv[0]))[:n]


s = Slug("Hello Big  World")
print(s, s.words, len(s), s == "hello-big-world", isinstance(s, str), repr(s), type(s + "!").__name__)
d = CaseDict()
d["Content-Type"] = "text/html"
print(d["content-type"], "CONTENT-TYPE" in d, d["Accept"], d)
h = Histogram()
for letter in "mississippi":
    h[letter] += 1
print(h.top(2), h["z"], len(h), dict(h))
