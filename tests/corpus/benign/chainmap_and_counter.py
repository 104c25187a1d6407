from collections import ChainMap, Counter, OrderedDict, defaultdict
settings = ChainMap({"debug": True}, {"debug": False, "level": 3})
print(settings["debug"], settings["level"], dict(settings))
settings["new"] = 1
print(settings.maps[0])
c = Counter("mississippi")
c["m"] += 10
c.update("miss")
c.subtract({"s": 3})
print(c.most_common(), c["zzz"], sorted(c.elements())[:5], c & Counter("sip"), +c == c)
tree = lambda: defaultdict(tree)
t = tree()
t["a"]["b"]["c"] = 1
print(t["a"]["b"]["c"], list(t["a"]))
