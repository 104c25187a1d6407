import pandas as pd
import matplotlib.pyplot as plt

df = pd.read_csv("passengers.csv")
fig, ax = plt.subplots(figsize=(6, 4))
ax.imshow(df.isna().T, aspect="auto", interpolation="none", cmap="gray_r")
ax.set_yticks(range(df.shape[1]))
ax.set_yticklabels(df.columns)
plt.savefig("missing.png")
rate = df.groupby(["Pclass", "Sex"])["Survived"].mean().unstack()
ax = rate.plot(kind="bar", figsize=(6, 4), color=["salmon", "steelblue"])
ax.set_xlabel("class")
ax.set_ylim(0, 1)
ax.yaxis.set_major_formatter(plt.FuncFormatter(lambda y, _: f"{y:.0%}"))
for p in ax.patches:
    ax.annotate(f"{p.get_height():.2f}", (p.get_x() + p.get_width() / 2.0, p.get_height()), ha="center", va="bottom", xytext=(0, 2), textcoords="offset points")
plt.tight_layout()
plt.savefig("rates.png")
print(rate.round(3))
