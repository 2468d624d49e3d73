import os

for name in ("A B", "ünicode", "1", "BASH_ENV", "x.y", "LINES"):
    print(ascii(name), ascii(os.environ[name]))
