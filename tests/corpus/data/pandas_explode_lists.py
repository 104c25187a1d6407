import pandas as pd

df = pd.DataFrame({"post": [1, 2, 3], "tags": ["red,blue", "blue", "green,red"]})
df["tag"] = df["tags"].str.split(",")
long = df.explode("tag", ignore_index=True)
print(long[["post", "tag"]])
print(long["tag"].value_counts().to_dict())
print(long.groupby("post")["tag"].apply(list).to_dict(), long.groupby("post")["tag"].agg(", ".join).to_dict())
print(pd.crosstab(long["post"], long["tag"]))
print(df["tag"].apply(len).sum(), df["tag"].str[0].tolist())
