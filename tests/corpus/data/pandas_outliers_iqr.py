import pandas as pd

df = pd.read_csv("passengers.csv")
for col in df.select_dtypes("number").columns:
    q1, q3 = df[col].quantile([0.25, 0.75])
    iqr = q3 - q1
    outliers = df[(df[col] < q1 - 1.5 * iqr) | (df[col] > q3 + 1.5 * iqr)]
    print(f"{col:12s} q1={q1:8.2f} q3={q3:8.2f} outliers={len(outliers):4d} ({len(outliers) / len(df):.1%})")
z = (df["Fare"] - df["Fare"].mean()) / df["Fare"].std()
print(df.loc[z.abs() > 3, "Fare"].round(2).tolist())
print(df["Fare"].clip(upper=df["Fare"].quantile(0.9)).max().round(2))
