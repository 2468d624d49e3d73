import resource

print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_FSIZE))
files = []
try:
    while True:
        files.append(open("/dev/null"))
except OSError as error:
    print(len(files), error)
for file in files:
    file.close()
try:
    with open("large", "wb", buffering=0) as file:
        print(file.write(bytes(5000)), file.write(bytes(5000)))
except OSError as error:
    print(error)
