import os

with open(__file__, "a") as file:
    file.write("# appended\n")
print(open(__file__).read().splitlines()[-1])
with open(__file__, "w") as file:
    file.write("print('new')\n")
print(os.stat(__file__).st_size, open(__file__).read())
