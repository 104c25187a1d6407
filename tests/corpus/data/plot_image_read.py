import matplotlib.pyplot as plt
import numpy as np

plt.imsave("square.png", np.eye(4), cmap="gray")
back = plt.imread("square.png")
print(back.shape, back.dtype, back[0, 0])
