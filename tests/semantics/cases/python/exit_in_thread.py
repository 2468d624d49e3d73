import sys
import threading

thread = threading.Thread(target=sys.exit, args=(7,))
thread.start()
thread.join()
print("the thread is gone")
sys.exit(2)
