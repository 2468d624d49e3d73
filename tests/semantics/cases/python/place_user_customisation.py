import sys

print(customised, "usercustomize" in sys.modules)
