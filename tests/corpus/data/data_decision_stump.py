import numpy as np
import pandas as pd

def gini(y):
    p = y.value_counts(normalize=True)
    return 1 - (p ** 2).sum()

df = pd.read_csv("iris.csv")
best = None
for col in df.columns[:-1]:
    for cut in np.unique(df[col].quantile(np.linspace(0.1, 0.9, 9))):
        left, right = df[df[col] <= cut], df[df[col] > cut]
        score = (len(left) * gini(left["species"]) + len(right) * gini(right["species"])) / len(df)
        if best is None or score < best[0]:
            best = (score, col, cut)
print(f"split on {best[1]} <= {best[2]:.2f}, gini {best[0]:.4f} from {gini(df['species']):.4f}")
