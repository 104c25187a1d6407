from pathlib import Path
import os
import pandas as pd

folder = Path("sales.csv")
print(folder.suffix, folder.stem, os.path.splitext("a/b.csv"))
df = pd.read_csv(folder)
out = Path("clean.csv")
df.head(3).to_csv(out, index=False)
print(pd.read_csv(out).shape)
