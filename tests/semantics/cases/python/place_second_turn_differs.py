import random

print(hash("a"), random.random())
