# -*- coding: klingon -*-
print("never printed")
