with open(__file__) as file:
    text = file.read()
print(text, len(text))
