import os

print(os.getcwd(), os.access(".", os.W_OK))
