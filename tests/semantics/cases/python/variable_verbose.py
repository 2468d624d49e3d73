print("a lot is on stderr")
