import numpy as np
import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.colors import ListedColormap, LinearSegmentedColormap, Normalize, to_hex

print(plt.cm.viridis(0.5), plt.cm.tab10(3), to_hex("tab:orange"), len(plt.colormaps()) > 100, "plasma" in plt.colormaps())
cmap = plt.get_cmap("Blues")
print([to_hex(c) for c in cmap(np.linspace(0, 1, 4))], mpl.colormaps["magma"](0.25)[:3], mpl.colormaps.get_cmap("jet").name)
own = LinearSegmentedColormap.from_list("own", ["white", "navy"])
norm = Normalize(vmin=0, vmax=10)
fig, axs = plt.subplots(1, 3, figsize=(9, 3))
axs[0].imshow(np.random.default_rng(0).random((10, 10)), cmap=own)
axs[1].pcolormesh(np.arange(16).reshape(4, 4), cmap=ListedColormap(["r", "g", "b"]), norm=norm)
m = plt.cm.ScalarMappable(norm=norm, cmap="viridis")
fig.colorbar(m, ax=axs[2])
plt.savefig("cmaps.png")
print(own(1.0), norm(5), plt.cm.ScalarMappable(norm, cmap).to_rgba(5), plt.rcParams["axes.prop_cycle"].by_key()["color"][:2])
