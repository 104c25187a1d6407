from itertools import combinations
from collections import Counter
import pandas as pd

df = pd.read_csv("sales.csv")
baskets = df.groupby("customer_id")["product"].agg(lambda s: sorted(set(s)))
pairs = Counter(p for b in baskets for p in combinations(b, 2))
n = len(baskets)
single = Counter(p for b in baskets for p in b)
rules = pd.DataFrame([(a, b, c / n, c / single[a], c / n / (single[a] / n * single[b] / n)) for (a, b), c in pairs.items()], columns=["a", "b", "support", "confidence", "lift"])
print(rules.sort_values(["lift", "a"], ascending=False).head(5).round(3).to_string(index=False))
