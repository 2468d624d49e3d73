import __main__
import sys

print(__main__.__name__, __main__ is sys.modules["__main__"], __main__.__file__ == __file__)
