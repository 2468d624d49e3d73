import tracemalloc

tracemalloc.start()
data = [bytes(1000) for _ in range(10)]
trace = tracemalloc.get_object_traceback(data[0])
print(trace.format(), tracemalloc.get_traceback_limit())
