import pandas as pd
import matplotlib.pyplot as plt

df = pd.read_csv("sales.csv")
totals = df.groupby("region")["units"].sum().sort_values()
fig, ax = plt.subplots(figsize=(7, 4))
bars = ax.bar(totals.index, totals.values, color=plt.cm.viridis([0.2, 0.4, 0.6, 0.8]), edgecolor="black")
ax.bar_label(bars, fmt="%d", padding=3)
ax.set_title("Units by region", fontsize=14, fontweight="bold")
ax.set_ylabel("units")
ax.spines[["top", "right"]].set_visible(False)
for bar, value in zip(bars, totals):
    ax.text(bar.get_x() + bar.get_width() / 2, bar.get_height() / 2, f"{value / totals.sum():.0%}", ha="center", color="white")
plt.xticks(rotation=45)
fig.savefig("bar.png", bbox_inches="tight")
plt.close(fig)
print(totals.to_dict(), [round(b.get_height()) for b in bars], len(ax.patches), ax.get_ylim())
