print("before")
import sys
sys.exit()
