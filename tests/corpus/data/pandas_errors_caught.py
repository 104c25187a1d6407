import pandas as pd

df = pd.DataFrame({"a": [1]})
for f in (lambda: df["zzz"], lambda: df.loc[5], lambda: df.iloc[9], lambda: df.nothing, lambda: pd.to_datetime("rubbish"), lambda: pd.read_csv("missing.csv"), lambda: int("x"), lambda: pd.to_numeric(["a"])):
    try:
        f()
    except FileNotFoundError:
        print("no such file")
    except (KeyError, IndexError, AttributeError) as e:
        print(type(e).__name__, e)
    except ValueError as e:
        print(isinstance(e, ValueError), str(e)[:40])
try:
    pd.DataFrame([1]).merge(df, on="a")
except KeyError as e:
    print("merge", e)
