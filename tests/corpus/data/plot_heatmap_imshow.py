import pandas as pd
import numpy as np
import matplotlib.pyplot as plt

corr = pd.read_csv("iris.csv").drop(columns=["species"]).corr()
fig, ax = plt.subplots(figsize=(6, 5))
im = ax.imshow(corr, cmap="coolwarm", vmin=-1, vmax=1)
cbar = fig.colorbar(im, ax=ax, shrink=0.8)
cbar.set_label("correlation")
ax.set_xticks(range(len(corr)), corr.columns, rotation=45, ha="right")
ax.set_yticks(np.arange(len(corr)), labels=corr.columns)
for i in range(len(corr)):
    for j in range(len(corr)):
        ax.text(j, i, f"{corr.iloc[i, j]:.2f}", ha="center", va="center", color="white" if abs(corr.iloc[i, j]) > 0.6 else "black")
plt.setp(ax.get_xticklabels(), fontsize=9)
plt.tight_layout()
plt.savefig("heatmap.png", dpi=90)
print(corr.round(3), im.get_array().shape, im.get_clim())
