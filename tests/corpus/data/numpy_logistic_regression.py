import numpy as np
import pandas as pd

df = pd.read_csv("passengers.csv")
X = pd.DataFrame({"female": (df["Sex"] == "female").astype(float), "pclass": df["Pclass"], "age": df["Age"].fillna(df["Age"].median()), "fare": np.log1p(df["Fare"])})
X = (X - X.mean()) / X.std()
X.insert(0, "bias", 1.0)
y = df["Survived"].to_numpy()
w = np.zeros(X.shape[1])
sigmoid = lambda z: 1 / (1 + np.exp(-z))
A = X.to_numpy()
for epoch in range(500):
    p = sigmoid(A @ w)
    w -= 0.1 * A.T @ (p - y) / len(y)
    if epoch % 100 == 0:
        loss = -np.mean(y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))
        print(f"epoch {epoch:3d} loss {loss:.5f}")
pred = (sigmoid(A @ w) > 0.5).astype(int)
print(dict(zip(X.columns, w.round(4))))
tp, fp = ((pred == 1) & (y == 1)).sum(), ((pred == 1) & (y == 0)).sum()
fn = ((pred == 0) & (y == 1)).sum()
print(f"accuracy {np.mean(pred == y):.4f} precision {tp / (tp + fp):.4f} recall {tp / (tp + fn):.4f}")
print(pd.crosstab(pd.Series(y, name="actual"), pd.Series(pred, name="predicted")))
