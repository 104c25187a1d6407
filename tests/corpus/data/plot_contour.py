import numpy as np
import matplotlib.pyplot as plt

X, Y = np.meshgrid(np.linspace(-3, 3, 60), np.linspace(-3, 3, 60))
Z = (1 - X / 2 + X**5 + Y**3) * np.exp(-(X**2) - Y**2)
fig, ax = plt.subplots(1, 2, figsize=(10, 4))
cs = ax[0].contour(X, Y, Z, levels=10, cmap="RdGy")
ax[0].clabel(cs, inline=True, fontsize=8, fmt="%.1f")
cf = ax[1].contourf(X, Y, Z, 20, cmap="viridis")
fig.colorbar(cf, ax=ax[1])
ax[1].quiver(X[::10, ::10], Y[::10, ::10], -X[::10, ::10], -Y[::10, ::10])
ax[0].set_aspect("equal")
fig.savefig("contour.png")
print(len(cs.levels), cf.levels[:3], Z.max().round(4))
