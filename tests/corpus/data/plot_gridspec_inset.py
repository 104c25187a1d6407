import numpy as np
import matplotlib.pyplot as plt
import matplotlib.gridspec as gridspec

fig = plt.figure(figsize=(8, 6))
gs = gridspec.GridSpec(2, 2, figure=fig, height_ratios=[2, 1], hspace=0.3)
top = fig.add_subplot(gs[0, :])
left, right = fig.add_subplot(gs[1, 0]), fig.add_subplot(gs[1, 1])
x = np.linspace(0, 10, 300)
top.plot(x, np.sin(x) * np.exp(-x / 5))
inset = top.inset_axes([0.6, 0.6, 0.35, 0.35])
inset.plot(x[:50], np.sin(x[:50]))
left.hist(np.sin(x), bins=15, orientation="horizontal")
right.hist2d(np.sin(x), np.cos(x), bins=10)
mosaic, axd = plt.subplot_mosaic("AB;CC", figsize=(5, 4))
axd["A"].plot([1, 2])
axd["C"].set_title("wide")
fig.savefig("layout.png")
mosaic.savefig("mosaic.png")
print(sorted(axd), len(fig.axes))
