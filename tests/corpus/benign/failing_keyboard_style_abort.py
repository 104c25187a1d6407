class Abort(KeyboardInterrupt):
    pass


done = []
try:
    for step in ("load", "clean", "train"):
        if step == "train":
            raise Abort(step)
        done.append(step)
except Exception as e:
    print("never here", e)
finally:
    print("done so far:", done)
