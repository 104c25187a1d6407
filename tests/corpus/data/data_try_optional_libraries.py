import pandas as pd

df = pd.read_csv("customers.csv").head(2)
for name in ("seaborn", "sklearn", "scipy", "statsmodels", "polars"):
    try:
        if name == "scipy":
            import scipy
        elif name == "seaborn":
            import seaborn as sns
        elif name == "sklearn":
            from sklearn.linear_model import LinearRegression
        print(name, "?")
    except ImportError:
        print(name, "missing")
try:
    print(df.to_markdown())
except (ImportError, AttributeError):
    print(df.to_string())
try:
    df.to_parquet("x.parquet")
except Exception as e:
    print("no parquet")
try:
    df.to_excel("x.xlsx")
except Exception as e:
    print("no excel")
print(hasattr(df, "name"), hasattr(df, "nope"), hasattr(df, "shape"), getattr(df, "nope", "default"))
