import pandas as pd
import numpy as np

rng = np.random.default_rng(0)
ts = pd.Series(rng.normal(size=96).cumsum(), index=pd.date_range("2024-01-01", periods=96, freq="h"))
print(ts.resample("D").ohlc().round(3), ts.resample("6h").agg(["mean", "count"]).head(2).round(3), ts.between_time("08:00", "10:00").shape, ts.at_time("12:00").index.day.tolist())
print(ts.first("1D").shape if hasattr(ts, "first") else ts[:24].shape, ts["2024-01-02"].shape, ts.truncate(after="2024-01-01 05:00").shape, ts.asfreq("12h").index.hour.tolist(), ts.shift(freq="1D").index[0], ts.tz_localize("UTC").tz_convert("Asia/Tokyo").index[0])
print(ts.groupby(ts.index.hour).mean().idxmax(), ts.index.to_series().diff().value_counts().index[0], ts.index.normalize().unique().strftime("%a").tolist(), ts.rolling("3h").sum().iloc[-1].round(4), ts.resample("D").apply(lambda x: x.iloc[-1] - x.iloc[0]).round(3).tolist(), ts.resample("30min").interpolate().shape)
print(ts.to_period("D").groupby(level=0).sum().round(3), pd.infer_freq(ts.index), ts.index.inferred_freq, ts.index[0] + pd.tseries.offsets.Hour(3), ts.index.month_name()[0], ts.idxmin(), ts.index.floor("D").nunique(), ts.index.isocalendar().week.iloc[0])
