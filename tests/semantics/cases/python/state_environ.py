import os

for name, value in sorted(os.environ.items()):
    print(f"{name}={value!r}")
print(sorted(os.environb) == sorted(os.fsencode(name) for name in os.environ))
