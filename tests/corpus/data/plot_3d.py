import numpy as np
import matplotlib.pyplot as plt
from mpl_toolkits.mplot3d import Axes3D

fig = plt.figure(figsize=(10, 5))
ax = fig.add_subplot(121, projection="3d")
X, Y = np.meshgrid(np.linspace(-2, 2, 30), np.linspace(-2, 2, 30))
surf = ax.plot_surface(X, Y, np.sin(np.hypot(X, Y)), cmap="coolwarm", linewidth=0, antialiased=False)
fig.colorbar(surf, shrink=0.5)
ax.set_zlim(-1, 1)
ax.set_xlabel("x"); ax.set_ylabel("y"); ax.set_zlabel("z")
ax.view_init(elev=30, azim=45)
ax2 = fig.add_subplot(1, 2, 2, projection="3d")
t = np.linspace(0, 6 * np.pi, 200)
ax2.plot(np.cos(t), np.sin(t), t, lw=1)
ax2.scatter([0], [0], [5], c="r", s=40)
ax2.bar3d([1], [1], [0], 0.5, 0.5, 3)
plt.savefig("three.png")
print(ax.name, ax.get_zlim(), ax2.elev)
