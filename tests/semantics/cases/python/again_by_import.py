import importlib.util
import os
import sys

if __name__ == "__main__":
    spec = importlib.util.spec_from_file_location("again", __file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    print(module.value, __import__(os.path.basename(__file__)[:-3].replace("-", "_"), fromlist=["x"]) if 0 else module.__name__)
value = f"value of {__name__}"
