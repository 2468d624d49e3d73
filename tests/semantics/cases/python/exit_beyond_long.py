import sys
sys.exit(2**70 + 5)
