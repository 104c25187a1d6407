xs = [1, 2, 3, 4, 5, 6, 7, 8]
ys = [2.3, 4.1, 6.2, 7.8, 10.1, 12.2, 13.7, 16.1]


def fit(xs, ys, rate=0.01, epochs=2000):
    w = b = 0.0
    n = len(xs)
    for epoch in range(epochs):
        errors = [w * x + b - y for x, y in zip(xs, ys)]
        loss = sum(e * e for e in errors) / n
        w -= rate * 2 / n * sum(e * x for e, x in zip(errors, xs))
        b -= rate * 2 / n * sum(errors)
        if epoch % 500 == 0:
            print(f"epoch {epoch:>4}: loss {loss:8.4f} w {w:.4f} b {b:+.4f}")
    return w, b


w, b = fit(xs, ys)
mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
exact_w = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / sum((x - mean_x) ** 2 for x in xs)
print(f"{w:.3f} vs {exact_w:.3f}, {b:.3f} vs {mean_y - exact_w * mean_x:.3f}")
residuals = [round(y - (w * x + b), 2) for x, y in zip(xs, ys)]
print(residuals)
r2 = 1 - sum(r * r for r in residuals) / sum((y - mean_y) ** 2 for y in ys)
print(f"R² = {r2:.4f}")
