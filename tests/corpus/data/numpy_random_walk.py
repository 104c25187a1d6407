import numpy as np
import pandas as pd

rng = np.random.default_rng(3)
steps = rng.choice([-1, 1], size=(1000, 200))
walks = steps.cumsum(axis=1)
hit = (np.abs(walks) >= 20).any(axis=1)
first = (np.abs(walks[hit]) >= 20).argmax(axis=1)
print(hit.sum(), first.mean().round(2), walks[:, -1].std().round(3))
print(pd.Series(walks[:, -1]).describe().round(2))
