import sys

print(sys.getallocatedblocks() > 0, sys.getrefcount(object()), sys.getsizeof([]), sys.getsizeof({}))
