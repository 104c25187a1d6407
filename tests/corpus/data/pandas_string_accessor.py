import pandas as pd

s = pd.Series([" Apple pie ", "banana-split", None, "Cherry_tart 12", "étude"])
print(s.str.strip().str.split().tolist(), s.str.lower().str.contains("a", na=False).tolist(), s.str.isalpha().tolist(), s.str.extract(r"(\d+)")[0].tolist(), s.str.replace("[-_]", " ", regex=True).str.title().tolist())
print(s.str.partition("-").fillna("").values.tolist(), s.str.rsplit("_", n=1).str[-1].tolist(), s.str.casefold().str.ljust(8, ".").tolist()[1], s.str.normalize("NFD").str.encode("ascii", "ignore").str.decode("ascii").tolist()[-1], s.str.swapcase().iloc[0], s.str.repeat(2).iloc[1], s.str.slice_replace(0, 2, "XX").iloc[1], s.str.removeprefix("banana").iloc[1], s.str.endswith("12", na=False).tolist(), s.str.translate(str.maketrans("a", "@")).iloc[1], s.str.match(r"^[A-Z]").tolist(), s.str.join("-").iloc[4], s.str.center(9, "*").iloc[4], s.str.rfind("a").tolist())
