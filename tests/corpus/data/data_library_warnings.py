import numpy as np
import pandas as pd
import matplotlib.pyplot as plt

print(np.array([1.0, 0.0]) / 0, np.log(-1.0), np.nanmean([np.nan]))
print(pd.to_datetime(["13/01/2024", "14/01/2024"]), pd.Series([1, 2]).astype("int8").tolist())
for i in range(22):
    plt.figure()
plt.plot([1, 2], label="_hidden")
plt.legend()
plt.savefig("many.png")
plt.close("all")
print("done")
