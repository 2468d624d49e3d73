# Without a terminal nothing is read after the end of the script.
x = 41
print(x, __import__("sys").flags.inspect)
