class Node:
    def __init__(self, value, next=None):
        self.value = value
        self.next = next


class LinkedList:
    def __init__(self, values=()):
        self.head = None
        self._size = 0
        for v in values:
            self.append(v)

    def append(self, value):
        node = Node(value)
        if self.head is None:
            self.head = node
        else:
            last = self.head
            while last.next:
                last = last.next
            last.next = node
        self._size += 1

    def reverse(self):
        previous, current = None, self.head
        while current:
            current.next, previous, current = previous, current, current.next
        self.head = previous
        return self

    def __iter__(self):
        node = self.head
        while node is not None:
            yield node.value
            node = node.next

    def __getitem__(self, i):
        for j, value in enumerate(self):
            if i == j:
                return value
        raise IndexError(i)

    def __len__(self):
        return self._size

    def __eq__(self, other):
        return list(self) == list(other)

    def __str__(self):
        return " -> ".join(map(str, self)) or "(empty)"


chain = LinkedList("abcd")
print(chain, "|", chain.reverse(), "|", LinkedList(), len(chain))
print(chain[0], chain == LinkedList("dcba"), "c" in chain, list(zip(chain, range(9))))
first, *middle, last = chain
print(first, middle, last)
try:
    chain[10]
except IndexError as e:
    print("no element", e)
