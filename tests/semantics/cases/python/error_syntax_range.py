print(1)
f(x for x in range(10), 1)
