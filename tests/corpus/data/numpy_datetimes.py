import numpy as np

d = np.arange("2024-02-26", "2024-03-02", dtype="datetime64[D]")
print(d, np.diff(d), d[0] + np.timedelta64(1, "D"), (d[-1] - d[0]) / np.timedelta64(1, "h"))
print(np.datetime64("2024-05-06T07:08"), np.datetime64("2024-05", "M").astype(int), d.astype("datetime64[M]"), np.isnat(np.datetime64("NaT")))
print(np.datetime_as_string(d[:2]), np.busday_offset("2024-05-04", 0, roll="forward"), d[0].item(), d[0].astype(object), np.datetime64("2024-01-01") < d[0])
