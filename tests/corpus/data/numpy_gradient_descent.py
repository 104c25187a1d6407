import numpy as np

def rosen(p):
    x, y = p
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2

def grad(f, p, eps=1e-6):
    g = np.zeros_like(p)
    for i in range(p.size):
        d = np.zeros_like(p)
        d[i] = eps
        g[i] = (f(p + d) - f(p - d)) / (2 * eps)
    return g

p = np.array([-1.0, 1.0])
history = [p.copy()]
for _ in range(5000):
    p -= 0.001 * grad(rosen, p)
    history.append(p.copy())
print(p.round(4), round(rosen(p), 8), np.array(history).shape)
