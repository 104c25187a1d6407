import pandas as pd

pd.set_option("display.max_columns", None)
pd.set_option("display.width", 200)
pd.options.display.float_format = "{:,.2f}".format
pd.options.display.max_rows = 8
df = pd.read_csv("sales.csv")
print(df)
print(pd.get_option("display.max_rows"), pd.options.display.width)
with pd.option_context("display.max_rows", 3, "display.precision", 1):
    print(df["price"].describe())
pd.reset_option("display.float_format")
pd.reset_option("all")
print(df["price"].mean())
