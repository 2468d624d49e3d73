import os

os.unlink(__file__)
print(os.path.exists(__file__))
raise ValueError("no source")
