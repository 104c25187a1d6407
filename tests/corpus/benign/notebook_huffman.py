import heapq
from collections import Counter
from dataclasses import dataclass, field


@dataclass(order=True)
class Node:
    weight: int
    order: int
    symbol: str | None = field(default=None, compare=False)
    left: "Node | None" = field(default=None, compare=False, repr=False)
    right: "Node | None" = field(default=None, compare=False, repr=False)


def huffman(text):
    heap = [Node(n, i, ch) for i, (ch, n) in enumerate(sorted(Counter(text).items()))]
    heapq.heapify(heap)
    order = len(heap)
    while len(heap) > 1:
        a, b = heapq.heappop(heap), heapq.heappop(heap)
        heapq.heappush(heap, Node(a.weight + b.weight, order, None, a, b))
        order += 1
    codes = {}

    def walk(node, prefix):
        if node.symbol is not None:
            codes[node.symbol] = prefix or "0"
        else:
            walk(node.left, prefix + "0")
            walk(node.right, prefix + "1")

    walk(heap[0], "")
    return codes


text = "she sells sea shells"
codes = huffman(text)
for symbol, code in sorted(codes.items(), key=lambda kv: (len(kv[1]), kv[0])):
    print(repr(symbol), code)
bits = "".join(codes[c] for c in text)
back, current, decode = [], "", {v: k for k, v in codes.items()}
for bit in bits:
    current += bit
    if current in decode:
        back.append(decode[current])
        current = ""
print(len(bits), "bits instead of", 8 * len(text), "".join(back) == text, Node(3, 1, "x"))
