import os

os.dup2(1, 2)
os.write(2, b"stderr is stdout\n")
print("in order")
os.write(2, b"as it was written\n")
