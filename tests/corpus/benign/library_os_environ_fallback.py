import os

api_key = os.environ.get("MY_SERVICE_TOKEN_FOR_DEMO")
mode = os.getenv("DEMO_MODE_THAT_NOBODY_SETS", "offline")
if api_key is None:
    print(f"no token configured; mode={mode}")
data_path = os.path.join("data", "input.csv")
if os.path.exists(data_path):
    print("reading", data_path)
else:
    print(f"{data_path} not found, using the context instead")
    rows = [line for line in context.splitlines() if "ERROR" in line]
    print(len(rows), "rows")
