print(sorted(globals()))
print({name: type(value).__name__ for name, value in sorted(globals().items())})
print(vars() is globals(), __builtins__.__name__)
