import numpy as np
import pandas as pd

df = pd.read_csv("iris.csv")
rng = np.random.default_rng(0)
idx = rng.permutation(len(df))
folds = np.array_split(idx, 5)
scores = []
for i, test in enumerate(folds):
    train = np.concatenate([f for j, f in enumerate(folds) if j != i])
    means = df.iloc[train].groupby("species").mean()
    d = ((df.iloc[test, :4].to_numpy()[:, None] - means.to_numpy()[None]) ** 2).sum(axis=2)
    pred = means.index.to_numpy()[d.argmin(axis=1)]
    scores.append((pred == df.iloc[test]["species"]).mean())
print([round(float(s), 3) for s in scores], f"{np.mean(scores):.3f} ± {np.std(scores):.3f}")
train = df.sample(frac=0.8, random_state=0)
test = df.drop(train.index)
print(train.shape, test.shape, train["species"].value_counts().to_dict())
