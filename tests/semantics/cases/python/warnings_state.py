import sys
import warnings

print(sys.warnoptions)
for entry in warnings.filters:
    print(entry)
