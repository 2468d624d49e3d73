import locale
import sys

print(sys.flags.utf8_mode, sys.stdout.encoding, sys.stdout.errors, sys.getfilesystemencoding(), locale.getpreferredencoding())
print(ascii("é"), "\udce9")
