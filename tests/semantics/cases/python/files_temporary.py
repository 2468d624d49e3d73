import os
import stat
import tempfile

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "file")
    with open(path, "w") as file:
        file.write("x" * 1000)
    os.symlink("file", path + ".link")
    os.link(path, path + ".hard")
    print(sorted(os.listdir(folder)), os.stat(path).st_nlink, stat.filemode(os.lstat(path + ".link").st_mode))
    os.chmod(path, 0o400)
    os.rename(path, path + ".new")
    print(stat.filemode(os.stat(path + ".new").st_mode))
print(os.path.exists(folder), os.path.dirname(folder))
with tempfile.NamedTemporaryFile() as file:
    print(stat.filemode(os.stat(file.name).st_mode))
