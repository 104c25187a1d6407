import copy
from dataclasses import dataclass, field, replace


@dataclass
class Options:
    model: str = "small"
    stops: list[str] = field(default_factory=list)
    extra: dict = field(default_factory=dict)


base = Options(stops=["\n"])
variants = [replace(base, model=m) for m in ("small", "large")]
variants[0].stops.append("END")
print(base.stops, variants[1].stops is base.stops)
deep = copy.deepcopy(base)
deep.stops.clear()
deep.extra["nested"] = {"a": [1]}
shallow = copy.copy(deep)
shallow.extra["nested"]["a"].append(2)
print(base, deep, shallow is deep, sep="\n")
grid = [[0] * 3] * 2
grid[0][0] = 1
fixed = copy.deepcopy([[0] * 3 for _ in range(2)])
fixed[0][0] = 1
print(grid, fixed, copy.copy({1, 2}) == {1, 2}, copy.deepcopy((1, [2])))
