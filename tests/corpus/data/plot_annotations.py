import numpy as np
import matplotlib.pyplot as plt

x = np.arange(10)
y = (x - 4) ** 2
fig, ax = plt.subplots()
ax.plot(x, y, marker="s", markersize=5, markerfacecolor="none")
i = y.argmin()
ax.annotate("minimum", xy=(x[i], y[i]), xytext=(x[i] + 2, y[i] + 15), arrowprops=dict(arrowstyle="->", color="red", connectionstyle="arc3,rad=0.2"), fontsize=12, bbox=dict(boxstyle="round", fc="w"))
ax.text(0.05, 0.95, "note", transform=ax.transAxes, va="top", style="italic")
ax.axhline(y.mean(), ls="--", c="gray")
ax.hlines([5, 10], 0, 9, colors="lightgray")
ax.vlines(x, 0, y, linestyles="dotted")
plt.figtext(0.5, 0.01, "source: made up", ha="center")
plt.savefig("annotated.png")
print(ax.texts[0].get_text(), ax.get_lines()[0].get_marker(), len(ax.lines))
