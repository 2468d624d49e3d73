import inspect
import sys


def depth():
    frame, count = sys._getframe(), 0
    while frame:
        count, frame = count + 1, frame.f_back
    return count


print(depth(), len(inspect.stack()), [entry.function for entry in inspect.stack()])
for entry in inspect.stack():
    print(entry.filename, entry.lineno, entry.code_context, entry.index)
print(sys._getframe().f_back, sys._getframe().f_code.co_name, sys._getframe().f_code.co_filename)
