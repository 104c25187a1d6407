import pandas as pd
import numpy as np

rng = np.random.default_rng(12)
scale = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]
answers = pd.DataFrame({f"Q{i}": pd.Categorical(rng.choice(scale, 60), categories=scale, ordered=True) for i in range(1, 4)})
counts = answers.apply(lambda c: c.value_counts(sort=False))
print(counts)
print((answers.apply(lambda c: c.cat.codes) + 1).mean().round(2))
print(answers["Q1"].value_counts(normalize=True).map("{:.0%}".format).to_dict())
k = answers.apply(lambda c: c.cat.codes).to_numpy()
print(round(3 / 2 * (1 - k.var(axis=0, ddof=1).sum() / k.sum(axis=1).var(ddof=1)), 4))
