try:
    int("seven")
except ValueError as error:
    raise RuntimeError("no number") from error
