import os
import sys

print(os.environ["GREETING"], hash("a"), sys.stdout.errors)
