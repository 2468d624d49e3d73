# As after `pip install`: the folder is on the path of interpreters that start later.
import sys

import installed

print(installed.value, installed.__file__, sys.path)
