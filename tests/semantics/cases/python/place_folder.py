import os
import sys

print(os.getcwd(), sys.path[0], os.environ.get("PWD"), len(os.listdir(".")))
