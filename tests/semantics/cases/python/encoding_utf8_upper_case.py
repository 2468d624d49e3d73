# coding=UTF_8
print(len("é"), ascii("é"))
