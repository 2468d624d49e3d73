# The folder of the script is searched, not the one it is started in.
with open("local_module.py", "w") as file:
    file.write("")
import local_module
