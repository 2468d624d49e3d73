import locale
import sys

print(sys.flags.utf8_mode, sys.stdout.encoding, sys.stdout.errors, locale.setlocale(locale.LC_CTYPE))
