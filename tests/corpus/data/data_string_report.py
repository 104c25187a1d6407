import textwrap
import pandas as pd

df = pd.read_csv("reviews.csv")
for row in df.head(3).itertuples():
    print(textwrap.fill(f"[{row.stars}*] {row.text}", 40))
print(df["text"].str.wrap(20).iloc[0].count("\n"), df["text"].str.slice(0, 10).tolist()[:2], df["text"].str.title().iloc[0], df["text"].str.get(0).nunique())
print(df.assign(short=df["text"].str[:15] + "...").loc[:1, ["stars", "short"]].to_string())
