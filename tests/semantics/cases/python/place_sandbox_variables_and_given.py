import os

print(os.environ["GREETING"], os.environ["OTHER"])
