try:
    int("seven")
except ValueError:
    raise RuntimeError("alone") from None
