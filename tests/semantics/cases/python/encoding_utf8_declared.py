#!/usr/bin/env python3
# vim: set fileencoding=utf-8 :
größe = "é"
print(len(größe), ascii(größe), sorted(name for name in globals() if not name.startswith("_")))
