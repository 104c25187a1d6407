import numpy as np
import pandas as pd

cities = pd.DataFrame({"city": ["Berlin", "Paris", "Madrid", "Rome"], "lat": [52.52, 48.857, 40.417, 41.9], "lon": [13.405, 2.352, -3.703, 12.496]})
lat, lon = np.radians(cities["lat"].to_numpy()), np.radians(cities["lon"].to_numpy())
a = np.sin((lat[:, None] - lat) / 2) ** 2 + np.cos(lat[:, None]) * np.cos(lat) * np.sin((lon[:, None] - lon) / 2) ** 2
km = pd.DataFrame(6371 * 2 * np.arcsin(np.sqrt(a)), index=cities["city"], columns=cities["city"]).round(0).astype(int)
print(km)
print(km.where(km > 0).stack().idxmin(), km.max().max())
