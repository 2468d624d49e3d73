import os
import sys

print(sys.path[:4])
os.mkdir("modules")
with open("modules/found_there.py", "w") as file:
    file.write("print('found', __file__)")
sys.path_importer_cache.clear()
import found_there
