import sys
import numpy as np
import pandas as pd
import matplotlib

print(np.__version__.split(".")[0], pd.__version__.split(".")[0], matplotlib.__version__[0], sys.version_info[0])
