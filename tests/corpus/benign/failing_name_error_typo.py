threshold = 500
slow = [int(p) for p in ("120", "640", "980") if int(p) > threshold]
print(len(slow), "slow requests")
print("worst:", max(slows))
