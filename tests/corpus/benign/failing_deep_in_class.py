class Node:
    def __init__(self, value, children=()):
        self.value = value
        self.children = list(children)

    def total(self):
        return self.value + sum(child.total() for child in self.children)


tree = Node(1, [Node(2), Node(3, [Node(4)])])
print(tree.total())
tree.children[1].children.append(Node("5"))
print("added one")
print(tree.total())
