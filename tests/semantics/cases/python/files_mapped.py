import fcntl
import mmap

with open("data", "w+b") as file:
    file.write(b"0123456789" * 1000)
    file.flush()
    with mmap.mmap(file.fileno(), 0) as mapped:
        mapped[0:3] = b"abc"
        print(mapped.find(b"9012"), len(mapped))
    file.seek(0)
    print(file.read(5))
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("locked")
