import faulthandler
import sys
import warnings

print(sys.flags.dev_mode, faulthandler.is_enabled(), warnings.filters[0])
