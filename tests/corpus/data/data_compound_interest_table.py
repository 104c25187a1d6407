import pandas as pd

principal, rate, years = 10_000, 0.05, 10
df = pd.DataFrame({"year": range(1, years + 1)})
df["balance"] = principal * (1 + rate) ** df["year"]
df["interest"] = df["balance"].diff().fillna(df["balance"].iloc[0] - principal)
print(df.round(2).to_string(index=False))
print(f"Final: {df['balance'].iloc[-1]:,.2f}")
payment = principal * rate / 12 / (1 - (1 + rate / 12) ** (-12 * years))
schedule, left = [], principal
for m in range(1, 4):
    interest = left * rate / 12
    left -= payment - interest
    schedule.append((m, round(payment, 2), round(interest, 2), round(left, 2)))
print(pd.DataFrame.from_records(schedule, columns=["month", "payment", "interest", "left"]))
