import warnings


def careless():
    warnings.warn("careful", stacklevel=2)
    warnings.warn("old", DeprecationWarning, stacklevel=2)


careless()
careless()
warnings.simplefilter("always")
careless()
print(len(warnings.filters) > 0)
