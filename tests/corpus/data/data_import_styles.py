import numpy
import pandas
import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot as plt, cm, colors, ticker, dates as mdates, rcParams
from pandas import DataFrame, Series, read_csv, to_datetime, Timestamp, concat
from pandas.tseries.offsets import MonthEnd, BDay
from pandas.plotting import scatter_matrix
from numpy import array, mean as np_mean
rcParams["figure.dpi"] = 50
print(read_csv("sales.csv").shape, DataFrame({"a": array([1, 2])}).a.sum(), np_mean([1, 2]), to_datetime("2024-01-31") + MonthEnd(1), Timestamp("2024-01-05") + BDay(1), cm.viridis(0.0), colors.to_hex((1, 0, 0)), concat([Series([1]), Series([2])]).tolist(), numpy.pi, pandas.isna(None), matplotlib.colormaps["viridis"].N)
