print([hash(text) for text in ("a", "b", "cove")], hash(b"bytes"))
