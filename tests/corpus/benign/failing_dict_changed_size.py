stock = {"pen": 3, "ink": 0, "pad": 5}
for name in stock:
    print("checking", name)
    if stock[name] == 0:
        del stock[name]
