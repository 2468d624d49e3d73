import os
import sys

print(sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix, os.readlink("/proc/self/exe"))
print(sys.version, sys.implementation.cache_tag, sys.platform, sys.byteorder)
