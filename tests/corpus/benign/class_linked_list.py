class LinkedList:
    class _Node:
        __slots__ = ("value", "next")

        def __init__(self, value, next=None):
            self.value = value
            self.next = next

    def __init__(self, values=()):
        self._head = None
        self._size = 0
        for value in reversed(list(values)):
            self.push(value)

    def push(self, value):
        self._head = self._Node(value, self._head)
        self._size += 1

    def pop(self):
        node = self._head
        self._head = node.next
        self._size -= 1
        return node.value

    def reverse(self):
        previous, node = None, self._head
        while node:
            node.next, previous, node = previous, node, node.next
        self._head = previous

    def __iter__(self):
        node = self._head
        while node is not None:
            yield node.value
            node = node.next

    def __len__(self):
        return self._size

items = LinkedList("abc")
items.push("z")
print(list(items), len(items), items.pop())
items.reverse()
print("->".join(items))
