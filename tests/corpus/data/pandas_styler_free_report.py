import pandas as pd

df = pd.read_csv("sales.csv")
rep = df.groupby("region")[["units", "price"]].mean()
print("=" * 34)
print(f"{'region':<10}{'units':>12}{'price':>12}")
print("-" * 34)
for region, row in rep.iterrows():
    print(f"{region:<10}{row['units']:>12.2f}{row['price']:>12.2f}")
print("=" * 34)
print(rep.to_string(formatters={"units": "{:.1f}".format, "price": lambda v: f"${v:.2f}"}, header=True))
print(rep.round(1).to_string(float_format=lambda v: "%.1f" % v))
