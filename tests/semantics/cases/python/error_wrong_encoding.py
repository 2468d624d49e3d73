# -*- coding: ascii -*-
print("first")
print("é")
