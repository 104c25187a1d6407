class Tree:
    def __init__(self, key=None):
        self.key = key
        self.left = self.right = None

    def insert(self, key):
        if self.key is None:
            self.key = key
        elif key < self.key:
            self.left = self.left or Tree()
            self.left.insert(key)
        else:
            self.right = self.right or Tree()
            self.right.insert(key)
        return self

    def __iter__(self):
        if self.left:
            yield from self.left
        if self.key is not None:
            yield self.key
        if self.right:
            yield from self.right

    def __contains__(self, key):
        node = self
        while node and node.key is not None:
            if key == node.key:
                return True
            node = node.left if key < node.key else node.right
        return False

    def height(self):
        return 1 + max(self.left.height() if self.left else 0, self.right.height() if self.right else 0)

tree = Tree()
for key in (50, 30, 70, 20, 40, 60, 80, 10):
    tree.insert(key)
print(list(tree), 60 in tree, 65 in tree, tree.height())
