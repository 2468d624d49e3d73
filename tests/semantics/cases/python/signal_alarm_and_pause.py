import signal

alarms = []
signal.signal(signal.SIGALRM, lambda number, frame: alarms.append(number))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
signal.pause()
signal.setitimer(signal.ITIMER_REAL, 0)
print(set(alarms), signal.getitimer(signal.ITIMER_REAL))
