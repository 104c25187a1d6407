def stop_if_done(items):
    if not items:
        print("nothing left to do")
        quit()
    return items.pop()

items = ["x", "y"]
while True:
    print(stop_if_done(items))
