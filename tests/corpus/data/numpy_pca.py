import numpy as np
import pandas as pd

df = pd.read_csv("iris.csv")
X = df.drop(columns="species").to_numpy()
Xc = X - X.mean(axis=0)
U, S, Vt = np.linalg.svd(Xc, full_matrices=False)
explained = S**2 / (S**2).sum()
print(explained.round(4), explained.cumsum().round(4))
comp = Xc @ Vt[:2].T
comp *= np.sign(comp[np.abs(comp).argmax(axis=0), [0, 1]])
out = pd.DataFrame(comp, columns=["PC1", "PC2"]).assign(species=df["species"])
print(out.groupby("species").mean().round(3))
C = np.cov(Xc.T)
vals = np.linalg.eigvalsh(C)[::-1]
print(np.allclose(vals, S**2 / (len(X) - 1)))
