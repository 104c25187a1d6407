import pandas as pd

df = pd.read_csv("reviews.csv").head(4)
df["label"] = [llm_query(f"classify: {t}") for t in df["text"]]
print(df["label"].str.len().tolist())
answers = llm_query_batched([f"summarise {t}" for t in df["text"]])
print(pd.Series(answers).str.startswith("answer").all())
