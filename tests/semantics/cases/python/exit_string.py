import sys
print("on stdout")
sys.exit("something is wrong with the wörld")
