from collections import deque
from dataclasses import dataclass, field


@dataclass
class TreeNode:
    name: str
    size: int = 0
    children: list["TreeNode"] = field(default_factory=list)

    def add(self, *path, size):
        if not path:
            self.size += size
            return
        head, *rest = path
        child = next((c for c in self.children if c.name == head), None)
        if child is None:
            child = TreeNode(head)
            self.children.append(child)
        child.add(*rest, size=size)

    @property
    def total(self):
        return self.size + sum(c.total for c in self.children)

    def lines(self, prefix=""):
        yield f"{prefix}{self.name} ({self.total})"
        for child in sorted(self.children, key=lambda c: -c.total):
            yield from child.lines(prefix + "  ")


root = TreeNode("/")
for path, size in {"usr/bin/python": 900, "usr/lib/a.so": 300, "etc/hosts": 2, "usr/bin/ls": 120}.items():
    root.add(*path.split("/"), size=size)
print("\n".join(root.lines()))
queue, order = deque([root]), []
while queue:
    node = queue.popleft()
    order.append(node.name)
    queue.extend(node.children)
print(order)
print(root.children[1])
