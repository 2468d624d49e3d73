print("one line")
text = """never
closed
