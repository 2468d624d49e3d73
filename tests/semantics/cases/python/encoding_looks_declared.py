# This is not a declaration: decoding latin-1
print(len("é"), ascii("é"))
