import numpy as np
import matplotlib.pyplot as plt
import matplotlib.patheffects as pe
from matplotlib.collections import LineCollection
from mpl_toolkits.axes_grid1 import make_axes_locatable

x = np.linspace(0, 4 * np.pi, 200)
pts = np.array([x, np.sin(x)]).T.reshape(-1, 1, 2)
lc = LineCollection(np.concatenate([pts[:-1], pts[1:]], axis=1), cmap="viridis", norm=plt.Normalize(-1, 1))
lc.set_array(np.cos(x))
lc.set_linewidth(3)
fig, ax = plt.subplots()
line = ax.add_collection(lc)
ax.autoscale()
ax.text(2, 0.5, "effect", path_effects=[pe.withStroke(linewidth=3, foreground="white")], fontsize=20)
cax = make_axes_locatable(ax).append_axes("right", size="5%", pad=0.1)
fig.colorbar(line, cax=cax)
fig.savefig("effects.png")
print(ax.get_xlim(), len(lc.get_segments()))
