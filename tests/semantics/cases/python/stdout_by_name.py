with open("/dev/stdout", "w") as file:
    file.write("by name\n")
with open("/proc/self/fd/2", "w") as file:
    file.write("by name, too\n")
