import copy
import json
import numpy as np

config = {"weights": np.arange(3.0), "names": ["a", "b"]}
other = copy.deepcopy(config)
other["weights"][0] = 99
print(config["weights"], other["weights"])
print(json.dumps({"weights": config["weights"].tolist(), "n": int(np.int64(3)), "mean": float(config["weights"].mean())}))
class NumpyEncoder(json.JSONEncoder):
    def default(self, obj):
        if isinstance(obj, np.integer):
            return int(obj)
        if isinstance(obj, np.floating):
            return float(obj)
        if isinstance(obj, np.ndarray):
            return obj.tolist()
        return super().default(obj)
print(json.dumps({"a": np.arange(2), "b": np.float32(1.5), "c": np.int16(4)}, cls=NumpyEncoder))
