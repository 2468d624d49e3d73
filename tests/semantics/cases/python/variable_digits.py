import sys

print(len(str(10**5000)), sys.get_int_max_str_digits())
