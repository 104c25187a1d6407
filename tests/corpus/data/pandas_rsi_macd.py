import pandas as pd
import numpy as np

df = pd.read_csv("prices.csv", parse_dates=["Date"], index_col="Date")
delta = df["Close"].diff()
gain = delta.clip(lower=0).rolling(14).mean()
loss = (-delta.clip(upper=0)).rolling(14).mean()
df["RSI"] = 100 - 100 / (1 + gain / loss)
df["MACD"] = df["Close"].ewm(span=12).mean() - df["Close"].ewm(span=26).mean()
mid = df["Close"].rolling(20).mean()
std = df["Close"].rolling(20).std()
df["upper"], df["lower"] = mid + 2 * std, mid - 2 * std
df["returns"] = np.log(df["Close"] / df["Close"].shift(1))
print(df[["RSI", "MACD", "upper", "lower"]].describe().round(3))
print("sharpe", round(df["returns"].mean() / df["returns"].std() * np.sqrt(252), 4))
print(df["returns"].skew().round(4), df["returns"].kurtosis().round(4))
