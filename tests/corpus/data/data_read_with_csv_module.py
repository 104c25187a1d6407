import csv
import io
import pandas as pd

df = pd.read_csv("customers.csv")
buffer = io.StringIO()
df.head(3).to_csv(buffer, index=False)
buffer.seek(0)
for row in csv.DictReader(buffer):
    print(row["name"], row["country"])
rows = list(csv.reader(io.StringIO(df.to_csv(index=False))))
print(len(rows), rows[0])
