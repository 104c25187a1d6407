import warnings
import numpy as np
import pandas as pd

warnings.filterwarnings("ignore")
warnings.simplefilter(action="ignore", category=FutureWarning)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    print(np.nanmean(np.array([np.nan, np.nan])))
df = pd.DataFrame({"a": [1, 2, 3]})
sub = df[df["a"] > 1]
sub["b"] = 5
print(sub, np.mean([]), np.array([1, 2]) / 0)
