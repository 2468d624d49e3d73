import sys

sys.stdout.write("unix\nwindows\r\nold\rend")
