# the declaration may stand in the second line
# coding: cp1252
print(ascii("€"))
