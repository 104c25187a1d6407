import matplotlib.pyplot as plt
import matplotlib.patches as mpatches
from matplotlib.lines import Line2D

fig, ax = plt.subplots()
ax.add_patch(mpatches.Rectangle((0.1, 0.1), 0.3, 0.2, color="green", alpha=0.4))
ax.add_patch(mpatches.Circle((0.7, 0.6), 0.15, fill=False, ec="red"))
ax.add_patch(plt.Polygon([[0.5, 0.1], [0.9, 0.1], [0.7, 0.4]], closed=True))
ax.add_patch(mpatches.FancyBboxPatch((0.1, 0.6), 0.2, 0.2, boxstyle="round,pad=0.02"))
ax.add_patch(mpatches.FancyArrowPatch((0.2, 0.2), (0.8, 0.8), arrowstyle="->", mutation_scale=15))
handles = [mpatches.Patch(color="green", label="box"), Line2D([0], [0], color="k", lw=2, label="line"), Line2D([], [], marker="o", ls="", label="dot")]
ax.legend(handles=handles, bbox_to_anchor=(1.02, 1), loc="upper left", ncol=1, fontsize="small")
ax.axis("off")
fig.savefig("patches.png", bbox_inches="tight", facecolor="white", transparent=False, pad_inches=0.1)
print(len(ax.patches), [t.get_text() for t in ax.get_legend().get_texts()])
