import os

print("lost")
os.write(1, b"written\n")
os._exit(5)
