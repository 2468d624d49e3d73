import os
import threading

main = threading.main_thread()
print(threading.active_count(), threading.enumerate() == [main], main.name, main.daemon, main.native_id == os.getpid())
print(threading.current_thread() is main, os.listdir("/proc/self/task") == [str(os.getpid())])
