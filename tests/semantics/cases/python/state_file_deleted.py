import os

print(os.path.exists(__file__))
os.unlink(__file__)
print(os.path.exists(__file__), os.listdir("/tmp"))
