import numpy as np

np.random.seed(1)
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
y = np.array([[0], [1], [1], [0]], dtype=float)

class Net:
    def __init__(self, n_in, n_hidden, n_out):
        self.W1 = np.random.randn(n_in, n_hidden)
        self.b1 = np.zeros((1, n_hidden))
        self.W2 = np.random.randn(n_hidden, n_out)
        self.b2 = np.zeros((1, n_out))

    def forward(self, X):
        self.h = np.tanh(X @ self.W1 + self.b1)
        return 1 / (1 + np.exp(-(self.h @ self.W2 + self.b2)))

    def step(self, X, y, lr=0.5):
        out = self.forward(X)
        d2 = out - y
        d1 = (d2 @ self.W2.T) * (1 - self.h ** 2)
        self.W2 -= lr * self.h.T @ d2
        self.b2 -= lr * d2.sum(axis=0, keepdims=True)
        self.W1 -= lr * X.T @ d1
        self.b1 -= lr * d1.sum(axis=0)
        return float(np.mean((out - y) ** 2))

net = Net(2, 8, 1)
for i in range(2001):
    loss = net.step(X, y)
    if i % 500 == 0:
        print(i, f"{loss:.5f}")
print(net.forward(X).round(2).ravel(), (net.forward(X) > 0.5).astype(int).T)
