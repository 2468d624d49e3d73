import os

copy = os.dup(1)
os.close(1)
os.write(copy, b"through the copy\n")
os.dup2(copy, 1)
print("and again")
