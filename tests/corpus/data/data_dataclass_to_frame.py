from dataclasses import dataclass, asdict
import pandas as pd

@dataclass
class Item:
    name: str
    price: float
    qty: int = 1

items = [Item("pen", 1.5, 10), Item("book", 12.0), Item("lamp", 30.0, 2)]
df = pd.DataFrame([asdict(i) for i in items])
df["total"] = df["price"] * df["qty"]
print(df, df["total"].sum(), pd.DataFrame(items).equals(df.drop(columns="total")))
print(df.set_index("name")["total"].to_dict(), df.to_dict("records")[0], pd.DataFrame.from_dict({"a": [1, 2]}, orient="index", columns=["x", "y"]))
