import os

print(os.getcwd(), os.environ.get("PWD"), os.path.expanduser("~"), os.access(".", os.W_OK), os.readlink("/proc/self/cwd"))
