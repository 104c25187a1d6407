import pandas as pd
import numpy as np

df = pd.read_csv("weather.csv", parse_dates=["date"], index_col="date")
series = df["temp"].interpolate(method="linear").asfreq("D")
trend = series.rolling(30, center=True, min_periods=15).mean()
detrended = series - trend
seasonal = detrended.groupby(detrended.index.dayofweek).transform("mean")
residual = detrended - seasonal
print(pd.DataFrame({"trend": trend, "seasonal": seasonal, "residual": residual}).describe().round(3))
print(round(1 - residual.var() / detrended.var(), 4))
print(series.autocorr(lag=1).round(4), [round(series.autocorr(k), 3) for k in range(1, 5)])
