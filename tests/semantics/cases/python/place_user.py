import os

print(os.getuid(), os.getgroups(), os.getcwd(), os.environ["HOME"], os.environ["USER"], os.stat(__file__).st_uid)
