import random

print(random.random(), random.getstate()[1][:5])
