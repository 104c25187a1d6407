import pandas as pd

df = pd.read_csv("messy.csv")
df.columns = df.columns.str.strip().str.lower().str.replace(r"[^a-z0-9]+", "_", regex=True).str.strip("_")
print(list(df.columns))
df["name"] = df["name"].str.strip().str.title()
df["salary"] = pd.to_numeric(df["salary"].astype(str).str.replace("$", "", regex=False).str.replace(",", ""), errors="coerce")
df["age"] = pd.to_numeric(df["age"], errors="coerce")
df["joined"] = pd.to_datetime(df["joined"], format="mixed", errors="coerce")
before = len(df)
df = df.drop_duplicates(subset=["name"]).dropna(subset=["name"]).reset_index(drop=True)
print(f"dropped {before - len(df)} rows")
print(df)
print(df.isna().mean().round(2).to_dict())
