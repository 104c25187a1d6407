import pandas as pd
import matplotlib.pyplot as plt
import matplotlib.dates as mdates
from matplotlib.ticker import FuncFormatter, MaxNLocator

df = pd.read_csv("weather.csv", parse_dates=["date"])
fig, ax = plt.subplots(figsize=(10, 4))
ax.plot(df["date"], df["temp"].interpolate(), lw=0.8)
ax.xaxis.set_major_locator(mdates.MonthLocator(interval=2))
ax.xaxis.set_major_formatter(mdates.DateFormatter("%b %Y"))
ax.xaxis.set_minor_locator(mdates.MonthLocator())
ax.yaxis.set_major_formatter(FuncFormatter(lambda v, pos: f"{v:.0f} °C"))
ax.yaxis.set_major_locator(MaxNLocator(6))
ax.axvspan(pd.Timestamp("2023-06-01"), pd.Timestamp("2023-08-31"), color="orange", alpha=0.2)
ax.fill_between(df["date"], df["temp"].min(), 0, where=df["rain"] > 10, color="b", alpha=0.3)
fig.autofmt_xdate(rotation=30)
fig.savefig("dates.svg")
fig.canvas.draw()
print([t.get_text() for t in ax.get_xticklabels()][:3])
print(mdates.date2num(pd.Timestamp("2023-01-01")), mdates.num2date(19358).date())
