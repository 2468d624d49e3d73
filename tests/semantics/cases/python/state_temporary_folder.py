import os
import tempfile

print(os.listdir("/tmp"), tempfile.gettempdir(), oct(os.stat("/tmp").st_mode))
