import pandas as pd
import matplotlib.pyplot as plt

df = pd.read_csv("iris.csv")
colors = {"setosa": "red", "versicolor": "green", "virginica": "blue"}
fig, ax = plt.subplots()
for name, group in df.groupby("species"):
    ax.scatter(group.petal_length, group.petal_width, label=name, color=colors[name], marker="o")
ax.legend()
ax.set(xlabel="petal length", ylabel="petal width", title="Iris", xlim=(0, 8))
plt.show()
print(ax.get_title(), ax.get_xlabel(), ax.get_xlim(), len(ax.collections), [t.get_text() for t in ax.get_legend().get_texts()])
