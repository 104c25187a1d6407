import copy
original = {"list": [1, [2, 3]], "set": {1}, "tuple": ([4],)}
shallow = copy.copy(original)
deep = copy.deepcopy(original)
original["list"][1].append(99)
original["tuple"][0].append(5)
print(shallow["list"], deep["list"], deep["tuple"], shallow is original)
class Box:
    def __init__(self, items):
        self.items = items
b = Box([1, 2])
c = copy.copy(b)
d = copy.deepcopy(b)
b.items.append(3)
print(c.items, d.items, a == b if (a := [1]) == [2] else "different")
