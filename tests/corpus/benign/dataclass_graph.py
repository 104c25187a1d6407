from dataclasses import dataclass, field

@dataclass
class Node:
    value: int
    children: list["Node"] = field(default_factory=list)

    def add(self, *values):
        for value in values:
            self.children.append(Node(value))
        return self

    def depth(self):
        return 1 + max((child.depth() for child in self.children), default=0)

    def __iter__(self):
        yield self.value
        for child in self.children:
            yield from child

root = Node(1).add(2, 3)
root.children[0].add(4, 5)
root.children[0].children[1].add(6)
print(list(root), root.depth(), sum(root))
