import socket
import threading

server = socket.create_server(("127.0.0.1", 0))


def answer():
    connection, _ = server.accept()
    connection.sendall(connection.recv(100).upper())
    connection.close()


thread = threading.Thread(target=answer)
thread.start()
with socket.create_connection(server.getsockname()) as client:
    client.sendall(b"over the loopback")
    print(client.recv(100))
thread.join()
left, right = socket.socketpair()
left.send(b"pair")
print(right.recv(10))
