import matplotlib.pyplot as plt
import pandas as pd

steps = pd.Series({"start": 100, "sales": 60, "costs": -45, "tax": -20})
cum = steps.cumsum()
fig, (ax, tab) = plt.subplots(1, 2, figsize=(10, 4))
bottom = cum.shift(1).fillna(0)
ax.bar(steps.index, steps, bottom=bottom, color=["gray"] + ["green" if v > 0 else "red" for v in steps[1:]])
ax.axhline(0, color="black", lw=0.8)
tab.axis("off")
t = tab.table(cellText=[[k, f"{v:+d}"] for k, v in steps.items()], colLabels=["step", "value"], loc="center", cellLoc="right")
t.auto_set_font_size(False)
t.set_fontsize(10)
t.scale(1, 1.5)
fig.savefig("waterfall.png")
print(cum.tolist())
