open("/dev/null")
print("left open")
