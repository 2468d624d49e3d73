import socket

print(socket.gethostname(), open("/etc/hosts").read())
