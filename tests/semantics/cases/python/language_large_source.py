import sys

source = "\n".join(f"x{i} = {i}" for i in range(20_000)) + "\nprint(x19999 + 1, 'lines')\n"
with open("/tmp/large.py", "w") as file:
    file.write(source)
import large

print(len(vars(large)) > 20_000)
