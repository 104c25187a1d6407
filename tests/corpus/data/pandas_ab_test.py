import numpy as np
import pandas as pd

rng = np.random.default_rng(7)
df = pd.DataFrame({"variant": rng.choice(["A", "B"], 2000), "converted": rng.random(2000) < 0.1})
df.loc[df["variant"] == "B", "converted"] |= rng.random((df["variant"] == "B").sum()) < 0.03
stats = df.groupby("variant")["converted"].agg(["sum", "count", "mean"])
print(stats.round(4))
pa, pb = stats.loc["A", "mean"], stats.loc["B", "mean"]
na, nb = stats["count"]
pool = stats["sum"].sum() / stats["count"].sum()
z = (pb - pa) / np.sqrt(pool * (1 - pool) * (1 / na + 1 / nb))
print(f"lift {(pb / pa - 1):+.1%}, z = {z:.3f}")
perm = [rng.permutation(df["converted"].to_numpy())[:na].mean() for _ in range(200)]
print(np.mean(np.array(perm) <= pa).round(3))
