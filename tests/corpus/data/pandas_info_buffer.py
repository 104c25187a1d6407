import io
import pandas as pd

df = pd.read_csv("customers.csv")
buffer = io.StringIO()
df.info(buf=buffer, memory_usage=False)
lines = buffer.getvalue().splitlines()
print(len(lines), lines[1])
print(df.memory_usage(index=False).index.tolist())
