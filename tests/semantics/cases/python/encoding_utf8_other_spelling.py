# -*- coding: utf8 -*-
print(len("é"), ascii("é"))
