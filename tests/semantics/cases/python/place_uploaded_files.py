import os

import helper

print(helper.value, open("data.txt").read(), len(os.listdir("/tmp")))
