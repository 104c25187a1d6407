import pandas as pd

log = pd.Series(["2024-01-02 ERROR disk full (code 28)", "2024-01-02 INFO started", "2024-01-03 ERROR timeout (code 110)"])
fields = log.str.extract(r"(?P<date>\S+) (?P<level>[A-Z]+) (?P<message>.*)")
print(fields)
print(log.str.extract(r"code (\d+)", expand=False).dropna().astype(int).tolist())
print(log.str.findall(r"\d+").str.len().tolist(), log.str.extractall(r"(\d+)").shape)
print(log.str.fullmatch(r".*started").tolist())
