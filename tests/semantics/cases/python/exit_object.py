import sys
sys.exit({"reason": [1, 2, 3]})
