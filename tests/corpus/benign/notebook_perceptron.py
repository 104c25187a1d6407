import math
import random


class Network:
    def __init__(self, n_in, n_hidden, rng):
        r = lambda: rng.uniform(-1, 1)
        self.hidden = [[r() for _ in range(n_in + 1)] for _ in range(n_hidden)]
        self.out = [r() for _ in range(n_hidden + 1)]

    @staticmethod
    def sigmoid(x):
        return 1 / (1 + math.exp(-x))

    def forward(self, x):
        h = [self.sigmoid(sum(w * v for w, v in zip(ws, [*x, 1]))) for ws in self.hidden]
        return h, self.sigmoid(sum(w * v for w, v in zip(self.out, [*h, 1])))

    def train(self, data, rate=1.0, epochs=3000):
        for _ in range(epochs):
            for x, target in data:
                h, y = self.forward(x)
                delta = (target - y) * y * (1 - y)
                for j, hj in enumerate(h):
                    dj = delta * self.out[j] * hj * (1 - hj)
                    self.out[j] += rate * delta * hj
                    self.hidden[j] = [w + rate * dj * v for w, v in zip(self.hidden[j], [*x, 1])]
                self.out[-1] += rate * delta


XOR = [((0, 0), 0), ((0, 1), 1), ((1, 0), 1), ((1, 1), 0)]
net = Network(2, 3, random.Random(4))
before = sum((net.forward(x)[1] - t) ** 2 for x, t in XOR)
net.train(XOR)
after = sum((net.forward(x)[1] - t) ** 2 for x, t in XOR)
print(f"better: {after < before}")
for x, t in XOR:
    print(x, t, round(net.forward(x)[1], 2))
