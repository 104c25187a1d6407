import pandas as pd

df = pd.read_csv("customers.csv")
names = df["name"]
print(names.str.upper().head(3).tolist(), names.str.len().describe().round(2).to_dict())
parts = names.str.split(" ", n=1, expand=True)
parts.columns = ["first", "last"]
print(parts.head(3))
print(names[names.str.contains("an", case=False, na=False)].tolist()[:5])
print(names.str[0].value_counts().head(3).to_dict())
print(names.str.replace(r"(\w+) (\w+)", r"\2, \1", regex=True).head(3).tolist())
print(names.str.startswith("A").sum(), names.str.count("a").sum(), names.str.find(" ").max())
print(names.str.cat(df["country"], sep=" / ").head(2).tolist(), names.str.pad(12, fillchar=".").iloc[0], names.str.zfill(14).iloc[0])
print(df["country"].str.get_dummies().sum().to_dict())
