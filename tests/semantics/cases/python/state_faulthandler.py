import faulthandler
import sys

print(faulthandler.is_enabled(), sys.flags.dev_mode, sys.flags.utf8_mode)
faulthandler.dump_traceback(file=sys.stdout)
