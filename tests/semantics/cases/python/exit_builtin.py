print(type(exit).__name__, repr(exit), repr(quit))
exit(4)
