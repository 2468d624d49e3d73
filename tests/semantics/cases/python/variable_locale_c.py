import locale
import os
import sys

print(sys.flags.utf8_mode, sys.stdout.encoding, sys.stdout.errors, locale.setlocale(locale.LC_CTYPE), os.environ.get("LC_CTYPE"))
print("é 日本")
