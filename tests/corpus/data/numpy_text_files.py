import io
import numpy as np

np.savetxt("matrix.csv", np.arange(6).reshape(2, 3), delimiter=",", fmt="%d", header="a,b,c", comments="")
print(np.loadtxt("matrix.csv", delimiter=",", skiprows=1))
print(np.genfromtxt("matrix.csv", delimiter=",", names=True)["b"])
print(np.loadtxt(io.StringIO("1 2\n3 4"), usecols=1, dtype=int), np.genfromtxt(io.StringIO("1,,3"), delimiter=",", filling_values=0))
prices = np.genfromtxt("prices.csv", delimiter=",", skip_header=1, usecols=(4, 5))
print(prices.shape, prices[:, 0].mean().round(4), prices[-1])
np.save("a.npy", np.eye(2))
np.savez("two.npz", x=np.arange(3), y=np.ones(2))
back = np.load("two.npz")
print(np.load("a.npy"), back["x"], sorted(back.files))
with np.load("two.npz") as data:
    print(data["y"])
