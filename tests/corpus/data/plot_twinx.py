import pandas as pd
import matplotlib.pyplot as plt

df = pd.read_csv("prices.csv", parse_dates=["Date"]).tail(60)
fig, ax1 = plt.subplots(figsize=(9, 4))
(l1,) = ax1.plot(df["Date"], df["Close"], color="tab:red", label="close")
ax1.set_ylabel("price", color="tab:red")
ax1.tick_params(axis="y", labelcolor="tab:red")
ax2 = ax1.twinx()
ax2.bar(df["Date"], df["Volume"], color="tab:blue", alpha=0.3, label="volume")
ax2.set_ylabel("volume")
lines, labels = ax1.get_legend_handles_labels()
more, more_labels = ax2.get_legend_handles_labels()
ax1.legend(lines + more, labels + more_labels, loc="upper left")
fig.autofmt_xdate()
fig.tight_layout()
plt.savefig("twin.png")
print(labels + more_labels, l1.get_color(), len(l1.get_xdata()))
