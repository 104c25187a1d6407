import numpy as np
import pandas as pd
import matplotlib.pyplot as plt

df = pd.read_csv("iris.csv")
X = np.c_[np.ones(len(df)), df[["petal_length", "sepal_width"]]]
y = df["petal_width"].values
beta = np.linalg.solve(X.T @ X, X.T @ y)
resid = y - X @ beta
s2 = resid @ resid / (len(y) - X.shape[1])
se = np.sqrt(np.diag(s2 * np.linalg.inv(X.T @ X)))
table = pd.DataFrame({"coef": beta, "se": se, "t": beta / se}, index=["const", "petal_length", "sepal_width"])
print(table.round(4))
fig, ax = plt.subplots(1, 2, figsize=(9, 3.5))
ax[0].scatter(X @ beta, resid, s=10)
ax[0].axhline(0, color="r")
ax[1].hist(resid, bins=20)
fig.savefig("resid.png")
print("R2", round(1 - resid.var() / y.var(), 4), "DW", round((np.diff(resid) ** 2).sum() / (resid ** 2).sum(), 4))
