import io
import json
import pandas as pd

df = pd.DataFrame({"id": [1, 2], "name": ['Quote "x"', "comma, here"], "when": pd.to_datetime(["2024-01-01", None]), "v": [0.1, None]})
text = df.to_csv(index=False, na_rep="NULL", date_format="%d.%m.%Y", quoting=1, lineterminator="\n", columns=["id", "name", "when"])
print(text, pd.read_csv(io.StringIO(text), na_values="NULL", parse_dates=["when"], date_format="%d.%m.%Y").dtypes)
print(df.to_json(orient="columns", date_format="iso"), df.to_json(orient="values"), json.loads(df.to_json(orient="table"))["schema"]["primaryKey"])
df.to_json("lines.jsonl", orient="records", lines=True)
print(pd.read_json("lines.jsonl", lines=True).shape, pd.read_json(io.StringIO('{"a":{"0":1}}')), df.to_dict("split")["columns"], df.to_dict(orient="series")["id"].tolist(), df.to_records(index=False).dtype.names, df.values.tolist()[0][:2], df.to_numpy(dtype=object).shape)
df.to_csv("z.csv", header=False, mode="w")
print(pd.read_csv("z.csv", header=None, index_col=0).shape, pd.read_csv(io.BytesIO(text.encode("utf-8")), encoding="utf-8", on_bad_lines="skip").shape)
try:
    pd.read_csv(io.StringIO(""))
except pd.errors.EmptyDataError as e:
    print(e)
try:
    pd.read_csv(io.StringIO("a,b\n1,2\n1,2,3\n"))
except pd.errors.ParserError as e:
    print(str(e).strip())
