import pandas as pd
import matplotlib.pyplot as plt

df = pd.read_csv("prices.csv", parse_dates=["Date"]).tail(30).reset_index(drop=True)
fig, (ax, vol) = plt.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 1]}, figsize=(9, 5))
up = df["Close"] >= df["Open"]
for mask, color in ((up, "green"), (~up, "red")):
    part = df[mask]
    ax.bar(part.index, part["Close"] - part["Open"], 0.6, bottom=part["Open"], color=color)
    ax.vlines(part.index, part["Low"], part["High"], color=color, linewidth=1)
    vol.bar(part.index, part["Volume"], color=color)
vol.set_xticks(df.index[::5])
vol.set_xticklabels(df["Date"].dt.strftime("%d %b")[::5], rotation=30)
vol.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
plt.subplots_adjust(hspace=0.05)
plt.savefig("candles.png")
print(up.sum(), (~up).sum(), ax.get_shared_x_axes().joined(ax, vol))
