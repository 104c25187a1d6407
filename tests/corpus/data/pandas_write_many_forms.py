import pandas as pd

df = pd.read_csv("customers.csv").head(4)
df.to_json("rows.json", orient="split")
df.to_html("table.html", index=False)
df.to_string("table.txt")
df.to_csv("table.tsv", sep="\t")
print(df.to_string(index=False))
print(df.to_dict("list")["name"], df.to_dict("index")[0]["country"])
print(df.to_html(classes="t", border=0)[:60])
print(df.to_records(index=False)[0])
