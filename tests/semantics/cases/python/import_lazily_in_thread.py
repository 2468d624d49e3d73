import threading


def work():
    import fractions

    print(fractions.Fraction(1, 3) + 1)


thread = threading.Thread(target=work)
thread.start()
thread.join()
