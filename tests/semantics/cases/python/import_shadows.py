# A file beside the script hides a module of the library.
with open("/tmp/colorsys.py", "w") as file:
    file.write("print('mine', __file__)")
import colorsys
