import re
from collections import Counter
import pandas as pd

df = pd.read_csv("reviews.csv")
df["words"] = df["text"].str.split().str.len()
tokens = df["text"].str.lower().apply(lambda t: re.findall(r"[a-z']+", t))
counts = Counter(w for row in tokens for w in row)
print(counts.most_common(5))
stop = {"the", "a", "is", "it", "and", "was", "i", "this", "to"}
freq = pd.Series(counts).drop(labels=list(stop), errors="ignore").sort_values(ascending=False, kind="stable")
print(freq.head(5))
print(df.groupby("stars")["words"].mean().round(2))
positive, negative = {"good", "great", "love"}, {"bad", "slow", "broken"}
df["score"] = tokens.apply(lambda ws: sum(w in positive for w in ws) - sum(w in negative for w in ws))
print(df[["stars", "score"]].corr().round(3))
bigrams = Counter(b for ws in tokens for b in zip(ws, ws[1:]))
print(bigrams.most_common(2))
