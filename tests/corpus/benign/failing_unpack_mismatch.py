pairs = ["a=1", "b=2", "c=3=4"]
settings = {}
for pair in pairs:
    key, value = pair.split("=")
    settings[key] = int(value)
    print(settings)
