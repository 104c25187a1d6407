from collections import Counter
import numpy as np
import pandas as pd

df = pd.read_csv("iris.csv").sample(frac=1, random_state=1).reset_index(drop=True)
X, y = df.iloc[:, :4].values, df["species"].values
split = int(0.7 * len(df))
Xtr, Xte, ytr, yte = X[:split], X[split:], y[:split], y[split:]

def predict(x, k=5):
    nearest = np.argsort(((Xtr - x) ** 2).sum(axis=1), kind="stable")[:k]
    return Counter(ytr[nearest]).most_common(1)[0][0]

pred = np.array([predict(x) for x in Xte])
print("accuracy", (pred == yte).mean().round(4))
print(pd.crosstab(yte, pred, rownames=["true"], colnames=["pred"]))
