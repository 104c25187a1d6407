import pandas as pd
import matplotlib.pyplot as plt

df = pd.read_csv("sales.csv", parse_dates=["date"])
df["revenue"] = df["units"] * df["price"]
monthly = df.groupby(df["date"].dt.to_period("M"))["revenue"].sum()
ax = monthly.plot(kind="line", marker="o", figsize=(8, 4), title="Revenue by month", ylabel="revenue", grid=True)
plt.savefig("monthly.png")
plt.close()
ax = df.groupby(["region", "product"])["units"].sum().unstack().plot.bar(stacked=True, rot=0, colormap="viridis")
ax.legend(title="product", loc="best")
ax.get_figure().savefig("stacked.png")
plt.close("all")
df["price"].plot.hist(bins=15, alpha=0.5)
df.plot.scatter(x="units", y="price", c="revenue", colormap="cool")
plt.savefig("pscatter.png")
print(monthly.round(2).to_dict() and len(monthly), plt.get_fignums())
