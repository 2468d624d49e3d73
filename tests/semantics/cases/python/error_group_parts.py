try:
    raise ExceptionGroup("parts", [TypeError("t"), ValueError("v"), OSError(2, "gone")])
except* ValueError as group:
    print("values", group.exceptions)
except* (TypeError, OSError) as group:
    print("others", group.exceptions)
