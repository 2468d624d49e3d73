def fails(kind, text):
    raise kind(text)


errors = []
for kind in (ValueError, KeyError, OSError):
    try:
        fails(kind, f"about {kind.__name__}")
    except Exception as error:
        error.add_note(f"a note for {kind.__name__}")
        errors.append(error)
raise ExceptionGroup("all of it", [errors[0], ExceptionGroup("inner", errors[1:])])
