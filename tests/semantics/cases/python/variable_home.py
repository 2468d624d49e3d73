import os
import site
import sys

print(os.path.expanduser("~"), site.getuserbase(), os.getcwd(), [path for path in sys.path if "home" in path])
