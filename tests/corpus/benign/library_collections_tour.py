from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque

defaults, user, args = {"color": "red", "size": 1}, {"size": 2}, {}
settings = ChainMap(args, user, defaults)
args["debug"] = True
print(settings["size"], settings["color"], dict(settings.new_child({"size": 9})), len(settings))
c = Counter("hello world".replace(" ", ""))
c.update("hold")
c.subtract("l" * 3)
print(c.most_common(3), +c == c, (c & Counter("lol")), sorted((Counter("ab") + Counter("bc")).items()), list(Counter(b=2).elements()))
d = deque(range(5), maxlen=5)
d.rotate(2)
d.appendleft(99)
print(d, d.popleft(), d.index(0))
tree = lambda: defaultdict(tree)
t = tree()
t["a"]["b"]["c"] = 1
print(t["a"]["b"]["c"], list(t), "z" in t)


class Limited(UserList):
    def append(self, item):
        super().append(item)
        del self.data[:-3]


class Upper(UserDict):
    def __setitem__(self, key, value):
        self.data[key.upper()] = value


l = Limited()
for i in range(6):
    l.append(i)
u = Upper(a=1)
u["b"] = 2
print(l, u, len(l), dict(u))
o = OrderedDict(a=1, b=2, c=3)
o.move_to_end("a")
print(list(o), o.popitem(last=False), o == {"c": 3, "a": 1})
