import numpy as np

img = np.zeros((6, 6), dtype=np.uint8)
img[2:4, 2:4] = 255
kernel = np.ones((3, 3)) / 9
padded = np.pad(img.astype(float), 1, mode="constant")
blur = np.array([[(padded[i:i + 3, j:j + 3] * kernel).sum() for j in range(6)] for i in range(6)])
print(blur.round(0).astype(int))
windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
print(np.allclose((windows * kernel).sum(axis=(2, 3)), blur))
rgb = np.stack([img] * 3, axis=-1)
gray = rgb @ np.array([0.299, 0.587, 0.114])
print(rgb.shape, gray.max().round(1), (img > 128).sum(), img.nbytes, img.itemsize, np.uint8(250) + np.uint8(3))
