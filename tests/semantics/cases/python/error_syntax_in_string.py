print("one line")
text = 'never closed
print(text)
