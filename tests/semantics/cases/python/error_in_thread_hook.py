import threading

threading.excepthook = lambda arguments: print(arguments.exc_type, arguments.exc_value, arguments.thread.name)
thread = threading.Thread(target=lambda: [][3], name="worker")
thread.start()
thread.join()
