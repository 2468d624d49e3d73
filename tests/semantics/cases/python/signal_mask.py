import os
import signal

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.kill(os.getpid(), signal.SIGTERM)
print(signal.sigpending(), signal.sigwait([signal.SIGTERM]).name)
