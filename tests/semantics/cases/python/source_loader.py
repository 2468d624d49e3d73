import pkgutil

print(__loader__.get_source("__main__")[:20], __loader__.get_filename("__main__"), __loader__.is_package("__main__"))
print(pkgutil.get_data("email", "__init__.py")[:20], len(__loader__.get_data(__file__)))
try:
    print(pkgutil.get_data("__main__", "x"))
except (OSError, ValueError) as error:
    print(type(error).__name__)
