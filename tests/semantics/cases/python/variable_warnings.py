import sys
import warnings

print(sys.warnoptions, flush=True)
warnings.warn("not seen", DeprecationWarning)
warnings.warn("as an error")
