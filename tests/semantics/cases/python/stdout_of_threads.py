import threading

turn = threading.Condition()
now = 0


def speak(number):
    global now
    with turn:
        turn.wait_for(lambda: now == number)
        print("thread", number)
        now += 1
        turn.notify_all()


threads = [threading.Thread(target=speak, args=(number,)) for number in range(8)]
for thread in reversed(threads):
    thread.start()
for thread in threads:
    thread.join()
