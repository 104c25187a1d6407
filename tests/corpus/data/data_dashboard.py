import numpy as np
import pandas as pd
import matplotlib.pyplot as plt

sales = pd.read_csv("sales.csv", parse_dates=["date"])
sales["revenue"] = sales["units"] * sales["price"]
fig, axes = plt.subplots(2, 2, figsize=(12, 8))
sales.groupby("region")["revenue"].sum().plot(kind="bar", ax=axes[0, 0], color="teal", title="by region")
sales.groupby("product")["revenue"].sum().plot(kind="pie", ax=axes[0, 1], autopct="%1.0f%%", title="by product")
sales.set_index("date")["revenue"].resample("W").sum().plot(ax=axes[1, 0], title="weekly")
axes[1, 1].scatter(sales["price"], sales["units"], alpha=0.4)
axes[1, 1].set_title("price and units")
for ax in axes.flat:
    ax.set_ylabel("")
fig.suptitle("Dashboard", fontsize=16)
fig.tight_layout()
fig.savefig("dashboard.png", dpi=100, bbox_inches="tight")
print(f"Total revenue: ${sales['revenue'].sum():,.2f}")
print(sales.nlargest(3, "revenue")[["order_id", "region", "revenue"]].to_string(index=False))
