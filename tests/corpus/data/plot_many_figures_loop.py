import pandas as pd
import matplotlib.pyplot as plt

df = pd.read_csv("iris.csv")
for column in df.columns[:-1]:
    plt.figure(figsize=(4, 3))
    plt.hist(df[column], bins=10)
    plt.title(column.replace("_", " ").title())
    plt.savefig(f"hist_{column}.png")
    plt.clf()
    plt.close()
print(plt.get_fignums())
