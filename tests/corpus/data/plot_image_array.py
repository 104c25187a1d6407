import numpy as np
import matplotlib.pyplot as plt

yy, xx = np.mgrid[0:64, 0:64]
img = np.stack([xx / 63, yy / 63, np.zeros_like(xx) + 0.5], axis=-1)
plt.imsave("gradient.png", img)
fig, ax = plt.subplots()
ax.imshow(img, extent=(0, 1, 0, 1), origin="lower", interpolation="bilinear")
ax.axis("off")
plt.savefig("shown.png")
print(img.shape, img.dtype, img[0, 0].round(2))
