import pandas as pd
import numpy as np
import matplotlib.pyplot as plt

df = pd.read_csv("iris.csv")
codes = df["species"].astype("category").cat.codes
sc = plt.scatter(df["sepal_length"], df["sepal_width"], c=df["petal_length"], s=20 + 10 * codes, cmap="plasma", alpha=0.8, edgecolors="none")
plt.colorbar(sc, label="petal length")
m, b = np.polyfit(df["sepal_length"], df["sepal_width"], 1)
xs = np.array(plt.xlim())
plt.plot(xs, m * xs + b, "k-", lw=1, label=f"y = {m:.2f}x + {b:.2f}")
plt.legend()
plt.gca().set_facecolor("#f7f7f7")
plt.savefig("scatter.png")
print(round(m, 4), round(b, 4), sc.get_offsets().shape, sc.get_clim())
