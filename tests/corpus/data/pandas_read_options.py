import io
import pandas as pd

text = "# comment\nid|when|amount|flag\n1|03/01/2024|1.234,5|yes\n2|04/01/2024|99,0|no\n3||NA|yes\n"
df = pd.read_csv(io.StringIO(text), sep="|", comment="#", decimal=",", thousands=".", na_values=["NA"], true_values=["yes"], false_values=["no"])
df["when"] = pd.to_datetime(df["when"], dayfirst=True)
print(df, df.dtypes)
part = pd.read_csv("sales.csv", usecols=["date", "units"], nrows=3, dtype={"units": "float32"}, index_col=0)
print(part)
total = 0
for chunk in pd.read_csv("sales.csv", chunksize=150):
    total += chunk["units"].sum()
    print(chunk.shape)
print(total)
print(pd.read_csv("sales.csv", skiprows=range(1, 6), header=0, names=list("abcdefg")).head(2))
